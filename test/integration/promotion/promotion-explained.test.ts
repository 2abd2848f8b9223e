import { afterAll, beforeAll, expect, test } from 'vitest';
import { succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { enroll, startSite, withoutUnits } from '../agent/folder-site.ts';

let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let office: Office;
beforeAll(async () => {
  folder = await temporaryDirectory('explained');
  office = await openOffice(folder.path);
  await office.edit('platform/fleet.yaml', (text) =>
    text.replace('- name: qa', '- name: qa\n      promotedFrom: dev'),
  );
  await withoutUnits(office);
});
afterAll(() => folder[Symbol.asyncDispose]());

const candidateOf = (stdout: string): string => (JSON.parse(stdout) as { candidate: string }).candidate;
const explain = async () => succeed(await office.scheduler('promote', 'qa', '--explain', '--json'));
const buildDev = async () =>
  JSON.parse(
    succeed(await office.scheduler('build', '--images', 'images', '--environment', 'dev', '--json')).stdout,
  ) as { candidates: { dev: string }; channels: { outcome: string }[] };

test('promote with the candidate that --explain showed is refused once there is another one', async () => {
  await buildDev();
  const shown = candidateOf((await explain()).stdout);
  await office.edit('platform/base/configs/everywhere.yaml', (text) => `${text}# another state\n`);
  const built = await buildDev();
  expect(built.candidates.dev).not.toBe(shown);
  // A comment changes no bundle, so nothing is released, and no site needs a medium.
  expect(new Set(built.channels.map(({ outcome }) => outcome))).toEqual(new Set(['unchanged']));

  const late = await office.scheduler('promote', 'qa', '--person', 'ann', '--reason', 'as I saw it');
  expect([late.code, late.stderr]).toEqual([8, expect.stringContaining('GATE_CLOSED')]);
  expect(late.stderr).toContain(
    `(this is about candidate ${shown.slice(0, 19)}, which promote qa --explain showed last)`,
  );

  expect(candidateOf((await explain()).stdout)).toBe(built.candidates.dev);
  const made = succeed(await office.scheduler('promote', 'qa', '--person', 'ann', '--reason', 'r'));
  expect(made.stdout).toContain(
    `qa: candidate ${built.candidates.dev.slice(0, 19)} is promoted from dev, number 1`,
  );
  expect(made.stderr).toContain('there is no PromotionPolicy for dev to qa, so no agent of dev has to show');
});

test('status shows a promotion as not released until it is released', async () => {
  const words =
    'promotion 1 is not released in qa yet; release it with: fleet-scheduler build --environment qa';
  await enroll(office, await startSite(office, 'plant-q'), 'dev/factory-host');
  const before = succeed(await office.scheduler('status'));
  expect(before.stdout).toContain(words);
  succeed(await office.scheduler('build', '--images', 'images', '--environment', 'qa'));
  expect(succeed(await office.scheduler('status')).stdout).not.toContain('is not released in qa yet');
});
