import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shown } from '../../../harness/run/shown.ts';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { PREDICATES } from '#bundles/media-types';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { addDays } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { approve } from '../../../../scheduler/release/approvals/approve.ts';
import { awaitingChannels, readAwaiting } from '../../../../scheduler/release/approvals/awaiting.ts';
import { exportStatement } from '../../../../scheduler/release/approvals/export-statement.ts';
import { describeWaiting } from '../../../../scheduler/release/approvals/waiting.ts';
import { waitingLines } from '../../../../scheduler/release/approvals/waiting-lines.ts';
import { build } from '../../../../scheduler/build/build.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';
import { type Holder, NOW, newWorld, writeKeys } from '../../keys/signer/signer-world.ts';

const world = await newWorld(2);
const CHANNEL = { environment: 'prod', clusterType: 'press' };
const LATER = addDays(NOW, 1);

/** A platform with one host channel of interest, built with only the scheduler's keys: everything waits. */
const setUp = async () => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, {
    ...fleetPlatform(),
    'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: qa}, {name: prod}]\n'),
  });
  const holders: readonly Holder[] = ['bundle', 'release'];
  await writeKeys(world, join(folder, 'keys'), holders);
  const layout = join(folder, 'layout');
  const keys = await openKeyDirectory(join(folder, 'keys'));
  return {
    folder,
    layout,
    keys,
    edit: (path: string) =>
      writeFile(
        join(folder, 'apps/shop/host/package.yaml'),
        ours('HostPackage', 'web', `spec:\n  directories: [{path: ${path}}]\n`),
      ),
    build: async (now = NOW) => {
      const { channels } = await build({
        platform: join(folder, 'platform'),
        maps: [],
        cacheDirectory: join(folder, 'cache'),
        environments: ['prod'],
        layout,
        keys,
        now,
        signal: new AbortController().signal,
      });
      return channels.find(({ clusterType }) => clusterType === 'press');
    },
    waiting: async () => readAwaiting(await openLayout(layout), CHANNEL, keys.root),
    released: async () => readRelease(await openLayout(layout), CHANNEL, keys.roots),
    approve: async (key: SigningKey, now = LATER) => {
      using releases = await openReleases(layout, { command: 'approve', now });
      return await approve(releases, keys, {
        channel: CHANNEL,
        now,
        sign: ({ payload }) => signPayload(payload, key),
      });
    },
  };
};

test('a build that needs an approval releases nothing, and its channel is awaiting', async () => {
  const it = await setUp();
  expect(await it.build()).toMatchObject({ outcome: 'awaiting', version: 0 });
  expect(await it.released()).toBeUndefined();
  expect(awaitingChannels(await openLayout(it.layout))).toContainEqual(CHANNEL);
});

test('an approval releases with the current time, and the release carries both signatures', async () => {
  const it = await setUp();
  const built = await it.build();
  expect(await it.approve(world.keys.approver)).toMatchObject({ outcome: 'released', version: 1 });
  const release = await it.released();
  expect(release?.predicate).toMatchObject({ version: 1, issuedAt: '2026-11-22T08:00:00Z' });
  expect(release?.subjects.get('bundle/host')).toBe(built?.bundle);
  const opened = await openLayout(it.layout);
  const files = await Promise.all(
    (release?.documents ?? [])
      .filter(({ role }) => role === 'bundle')
      .map(({ digest }) => readFile(join(it.layout, 'blobs/sha256', digest.slice(7)))),
  );
  const { signers } = verifyStatement(files, it.keys.root.roles.bundle, PREDICATES.bundle, 'the statement');
  expect(signers).toHaveLength(2);
  expect(awaitingChannels(opened)).not.toContainEqual(CHANNEL);
  await readBundle(opened.blobs, built?.bundle ?? digestOf(''));
  // Built again it is what runs.
  expect(await it.build(LATER)).toMatchObject({ outcome: 'unchanged', version: 1 });
});

test('until the approval sites keep the current release', async () => {
  const it = await setUp();
  await it.build();
  await it.approve(world.keys.approver);
  await it.edit('/opt/shop');
  expect(await it.build(LATER)).toMatchObject({ outcome: 'awaiting', version: 1 });
  expect((await it.released())?.predicate.version).toBe(1);
  expect(await it.approve(world.keys.approver)).toMatchObject({ outcome: 'released', version: 2 });
  expect((await it.released())?.predicate.previous).toMatch(/^sha256:/);
});

test('building the same bundle again leaves the pending statement unchanged', async () => {
  const it = await setUp();
  await it.build();
  const before = await it.waiting();
  await it.build(LATER);
  expect((await it.waiting())?.payload.equals(before?.payload ?? Buffer.alloc(0))).toBe(true);
  expect((await it.waiting())?.files).toEqual(before?.files);
});

test('a newer bundle replaces the pending one, whose approval is then refused', async () => {
  const it = await setUp();
  await it.build();
  const old = await it.waiting();
  await it.edit('/opt/shop');
  await it.build();
  using releases = await openReleases(it.layout, { command: 'approve', now: LATER });
  const approving = approve(releases, it.keys, {
    channel: CHANNEL,
    now: LATER,
    sign: () => signPayload(old?.payload ?? Buffer.alloc(0), world.keys.approver),
  });
  await expect(approving).rejects.toMatchObject({
    code: 'PAYLOAD_MISMATCH',
    hint: expect.stringContaining('approvals export prod/press'),
  });
});

test('a build of the released bundle removes the pending one', async () => {
  const it = await setUp();
  await it.build();
  await it.approve(world.keys.approver);
  await it.edit('/opt/shop');
  await it.build(LATER);
  await it.edit('/opt/shop/web');
  expect(await it.build(LATER)).toMatchObject({ outcome: 'unchanged' });
  expect(await it.waiting()).toBeUndefined();
  await expect(it.approve(world.keys.approver)).rejects.toMatchObject({ code: 'NOTHING_AWAITING' });
});

test('an approval by a key that signed already is THRESHOLD, and by another key UNKNOWN_KEY', async () => {
  const it = await setUp();
  await it.build();
  await expect(it.approve(world.keys.bundle)).rejects.toMatchObject({
    code: 'THRESHOLD',
    message: 'the approval of prod/press is by a key that has signed already',
  });
  await expect(it.approve(newSigningKey())).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  await expect(it.approve(world.keys.release)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  expect(await it.released()).toBeUndefined();
});

test('an approver sees the statement and its exact bytes', async () => {
  const it = await setUp();
  await it.build();
  await it.approve(world.keys.approver);
  await it.edit('/opt/shop');
  await it.build(LATER);
  const waiting = await it.waiting();
  if (!waiting) throw new Error('nothing waits');
  const told = await describeWaiting(await openLayout(it.layout), it.keys.roots, it.keys.root, waiting);
  expect(told).toMatchObject({
    runningRelease: 1,
    changes: { added: [], changed: ['shop-web'], removed: [] },
    needed: 2,
  });
  const text = shown(waitingLines(told)).join('\n');
  for (const part of [
    waiting.bundle,
    told.payload.slice(7),
    waiting.predicate.candidate,
    'prod',
    'press',
    'release 1',
  ])
    expect(text).toContain(part);
  expect(text).toContain('prod/press: 1 of 2 bundle signers have signed');
  const out = join(it.folder, 'out');
  await mkdir(out);
  const commands = await exportStatement(waiting, out);
  expect(commands.at(-1)).toContain('cosign attest-blob --key approver.key');
  const written = await readFile(join(out, 'st.json'));
  expect(written.equals(waiting.payload)).toBe(true);
  expect(parseEnvelope(waiting.files[0] ?? Buffer.alloc(0), 'it').payload.equals(written)).toBe(true);
});
