import { expect, test } from 'vitest';
import type { OwnedRauc } from '../../../../../agent/apply/host/owned/owned-state.ts';
import { planGone, planSystem } from '../../../../../agent/apply/host/plan/plan-rauc.ts';
import type { RaucState } from '../../../../../agent/apply/host/rauc/read-rauc.ts';
import type { Step } from '../../../../../agent/model/target.ts';
import { digestOf } from '../../../../../bundles/digest.ts';

const bundle = (version: string) => ({ version, digest: digestOf(`bundle ${version}`), size: 4096 });
const owned = (version: string, back?: string): OwnedRauc => ({
  version,
  digest: bundle(version).digest,
  ...(back !== undefined && { provisional: { back } }),
});
/** A host with two slots that has booted the first of them, and boots `primary` next. */
const host = (
  versions: readonly [string | undefined, string | undefined],
  primary = 'rootfs.0',
): RaucState => {
  const slots = versions.map((version, index) => ({ name: `rootfs.${index}`, version }));
  return { booted: slots[0] as (typeof slots)[number], primary, slots };
};
const shown = (steps: readonly Step[]) => steps.map(({ kind, reason }) => `${kind}: ${reason}`);

test('a new version is installed, and then the host is rebooted into it', () => {
  const plan = planSystem(host(['1', undefined]), bundle('2'), owned('1'), false);
  expect(shown(plan.steps)).toEqual(['rauc-install: version 1 -> 2', 'rauc-boot: reboot into version 2']);
  expect(plan.owns).toEqual([{ key: 'rauc:system', state: owned('2', 'rootfs.0') }]);
});

test('a system that RAUC did not write has no version', () => {
  const plan = planSystem(host([undefined, undefined]), bundle('2'), undefined, false);
  expect(shown(plan.steps)[0]).toBe('rauc-install: version unknown -> 2');
});

test('the version that the host runs is not written again', () => {
  const plan = planSystem(host(['2', '1']), bundle('2'), undefined, false);
  expect(shown(plan.steps)).toEqual(['note: as desired']);
  expect(plan.owns).toEqual([{ key: 'rauc:system', state: owned('2') }]);
});

test('the booted slot becomes the next one again if the boot loader would start another', () => {
  const plan = planSystem(host(['2', '3'], 'rootfs.1'), bundle('2'), owned('2'), true);
  expect(shown(plan.steps)).toEqual(['rauc-activate: next boot rootfs.1 -> rootfs.0 with version 2']);
});

test('a boot loader that does not name the next slot is left alone', () => {
  const plan = planSystem({ ...host(['2', '3']), primary: undefined }, bundle('2'), owned('2'), true);
  expect(shown(plan.steps)).toEqual(['note: as desired']);
});

test('another bundle of the version that the host runs is refused', () => {
  const other = { ...bundle('2'), digest: digestOf('another bundle 2') };
  expect(() => planSystem(host(['2', '1']), other, owned('2'), false)).toThrow(
    expect.objectContaining({ code: 'RAUC_FAILED' }),
  );
});

test('a rollback boots the previous slot without writing it', () => {
  const plan = planSystem(host(['3', '2']), bundle('2'), owned('3', 'rootfs.1'), true);
  expect(shown(plan.steps)).toEqual([
    'rauc-activate: next boot rootfs.0 -> rootfs.1 with version 2',
    'rauc-boot: reboot into rootfs.1 with version 2',
  ]);
});

test('a rollback installs the previous version again if its slot has another one', () => {
  const plan = planSystem(host(['3', '4']), bundle('2'), owned('3', 'rootfs.1'), true);
  expect(shown(plan.steps)).toEqual(['rauc-install: version 3 -> 2', 'rauc-boot: reboot into version 2']);
});

test('a rollback of an installation that was never booted reboots nothing', () => {
  const plan = planSystem(host(['2', '3'], 'rootfs.1'), bundle('2'), owned('3', 'rootfs.0'), true);
  expect(shown(plan.steps)).toEqual(['rauc-activate: next boot rootfs.1 -> rootfs.0 with version 2']);
});

test('a correction does not reboot a host that runs another system', () => {
  const plan = planSystem(host(['1', '2']), bundle('2'), owned('2'), true);
  expect(shown(plan.steps)).toEqual([
    'note: the host runs rootfs.0 with version 1, not version 2; a correction reboots nothing',
  ]);
});

test('a first installation that failed goes back to the system of the factory', () => {
  expect(shown(planGone(host(['2', undefined]), owned('2', 'rootfs.1')))).toEqual([
    'rauc-activate: next boot rootfs.0 -> rootfs.1, which RAUC did not write',
    'rauc-boot: reboot into rootfs.1, which RAUC did not write',
  ]);
});

test('the host keeps its system when its package leaves the release', () => {
  expect(shown(planGone(host(['2', undefined]), owned('2')))).toEqual([
    'note: the host keeps its system, rootfs.0 with version 2',
  ]);
});
