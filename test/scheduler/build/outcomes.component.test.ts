import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { createRoot } from '#bundles/trust/root/root';
import { addDays } from '#bundles/time';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { lineagesOf } from '../../../scheduler/load/releases/check-promoted.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { approve } from '../../../scheduler/release/approvals/approve.ts';
import { build } from '../../../scheduler/build/build.ts';
import type { ChannelOutcome } from '../../../scheduler/build/channel-outcome.ts';
import { openReleases } from '../../../scheduler/release/write/open-releases.ts';
import { revokeBundle } from '../../../scheduler/release/revoke/revoke-bundle.ts';
import { decideRollout } from '../../../scheduler/release/rollout/begin-rollout.ts';
import { carryOut, readCurrentRollout } from '../../../scheduler/release/rollout/carry-out.ts';
import { readPlan } from '../../../scheduler/release/rollout/plan-document.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform, ours } from '../fleet-platform.ts';
import { NOW as WORLD_NOW, newWorld, type World, writeKeys } from '../keys/signer/signer-world.ts';
import { openBuiltOffice } from '../release/chain/chain-office.ts';
import {
  makeBuiltOffice,
  makeOffice,
  NOW,
  type Office,
  target,
  workload,
} from '../release/removals/office.ts';
import { recordBuild } from './record-build.ts';

/**
 * What a build reports for each channel and changes in the index, for each of its outcomes. outcomes.txt was recorded from the program,
 * and changes only together with a decision about which packages a site keeps.
 */
type Case = () => Promise<readonly string[]>;

const PRESS = { environment: 'prod', clusterType: 'press' };
const LATER = addDays(NOW, 170);
const POLICY = ours(
  'RolloutPolicy',
  'prod-rings',
  'spec:\n  environment: prod\n  stages: [{name: pilot, percent: 10}, {name: all, percent: 100}]\n',
);

const keysOf = ({ folder }: Office) => openKeyDirectory(join(folder, 'keys'));

const pressRelease = async (office: Office) => {
  const { roots } = await keysOf(office);
  const found = await readRelease(await openLayout(office.layout), PRESS, roots);
  if (!found) throw new Error('prod/press has no release');
  return found;
};

const change = (office: Office, to: string) =>
  office.edit('apps/labels/host/package.yaml', (text) => text.replace(/labels\S*(?=\}\])/, `labels/${to}`));

const breakPackage = (office: Office) => office.edit('apps/labels/host/package.yaml', () => '{nonsense');

const record = (office: Office, options?: Parameters<Office['build']>[0]) =>
  recordBuild(office.layout, () => office.build(options));

const inStages = async (): Promise<Office> => {
  const office = await makeBuiltOffice();
  await writeFiles(office.folder, { 'platform/promotion/rollout.yaml': POLICY });
  await change(office, 'one');
  await office.build();
  return office;
};

const takeBack = async (office: Office): Promise<void> => {
  const keys = await keysOf(office);
  using releases = await openReleases(office.layout, { command: 'test', now: NOW });
  const stored = await readPlan(await releases.open(), await pressRelease(office));
  if (!stored) throw new Error('no plan');
  const decision = { decision: 'take-back', person: 'ada', reason: 'because' } as const;
  await decideRollout(releases, keys, stored, decision, NOW);
  const rolling = await readCurrentRollout(await releases.open(), keys, PRESS, NOW);
  const carried = rolling && (await carryOut(await releases.open(), keys, rolling, NOW));
  if (carried) await releases.point(carried.references);
};

const revoke = async (office: Office): Promise<void> => {
  const release = await pressRelease(office);
  const bundle = release.subjects.get('bundle/host');
  if (!bundle) throw new Error('no bundle');
  using releases = await openReleases(office.layout, { command: 'test', now: NOW });
  const what = {
    channel: PRESS,
    bundle,
    reason: 'sends prices twice',
    instead: 'next build',
    now: NOW,
  } as const;
  const { references } = await revokeBundle(await releases.open(), await keysOf(office), what);
  await releases.point(references);
};

/** Removes the blob of the candidate that the current release was built from: the reasons of removals are unknown then. */
const loseCandidate = async (office: Office): Promise<void> => {
  const layout = await openLayout(office.layout);
  for (const { candidate } of await lineagesOf(layout, await pressRelease(office)))
    await layout.blobs.remove(candidate);
};

/** A fleet whose bundles need these many signatures, one of which a build gives. */
const setUpSigners = async (world: World) => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, {
    ...fleetPlatform(),
    'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: prod}]\n'),
  });
  await writeKeys(world, join(folder, 'keys'), ['bundle', 'release']);
  const layout = join(folder, 'out');
  const open = () => openKeyDirectory(join(folder, 'keys'));
  const run = async (now = WORLD_NOW) =>
    build({
      platform: join(folder, 'platform'),
      maps: [],
      cacheDirectory: join(folder, 'cache'),
      layout,
      keys: await open(),
      workers: 1,
      now,
      signal: new AbortController().signal,
    });
  return {
    folder,
    build: run,
    record: (now?: Date) => recordBuild(layout, () => run(now)),
    edit: (path: string) =>
      writeFile(
        join(folder, 'apps/shop/host/package.yaml'),
        ours('HostPackage', 'web', `spec:\n  directories: [{path: ${path}}]\n`),
      ),
    approve: async () => {
      using releases = await openReleases(layout, { command: 'approve', now: WORLD_NOW });
      await approve(releases, await open(), {
        channel: PRESS,
        now: WORLD_NOW,
        sign: ({ payload }) => signPayload(payload, world.keys.approver),
      });
    },
  };
};

/** The next root needs two bundle signers. */
const raiseThreshold = async ({ keys, root, certificate }: World, folder: string): Promise<void> => {
  const bytes = await createRoot(
    {
      fleet: 'acme',
      version: root.version + 1,
      expires: addDays(WORLD_NOW, 600),
      dev: true,
      agentCertificates: [certificate],
      thresholds: { bundle: 2 },
      keys: {
        root: [keys.root.public],
        bundle: [keys.bundle.public, keys.approver.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
    },
    [keys.root],
  );
  await writeFile(join(folder, 'keys/2.root.json'), bytes);
};

const CASES: Readonly<Record<string, Case>> = {
  'a first release, and a channel without packages': async () => {
    const scale = workload('scale', target('host', 'prod', 'host'));
    return record(await makeOffice({ 'apps/scale/deploy/workload.yaml': scale }));
  },
  'a channel of which all packages are held': async () => {
    const office = await makeOffice();
    await office.edit('apps/scale/host/package.yaml', () => '{nonsense');
    return record(office);
  },
  'nothing changed': async () => record(await makeBuiltOffice()),
  'nothing changed and blobs are missing': async () => {
    const office = await makeBuiltOffice();
    const bundle = (await pressRelease(office)).subjects.get('bundle/host');
    const layout = await openLayout(office.layout);
    if (bundle) await layout.blobs.remove(bundle);
    return record(office);
  },
  'nothing changed and the release ends soon': async () => record(await makeBuiltOffice(), { now: LATER }),
  'a changed package': async () => {
    const office = await makeBuiltOffice();
    await change(office, 'one');
    return record(office);
  },
  'a removed package': async () => {
    const office = await makeBuiltOffice();
    await office.edit('platform/base/labels.yaml', undefined);
    return record(office);
  },
  'a package that is held and has no last good one': async () => {
    const office = await makeBuiltOffice();
    await breakPackage(office);
    return record(office);
  },
  'a package that is held and has none, and the release ends soon': async () => {
    const office = await makeBuiltOffice();
    await breakPackage(office);
    return record(office, { now: LATER });
  },
  'a package that is held and stays': async () => {
    const office = await makeBuiltOffice();
    await breakPackage(office);
    return record(office, { previous: office.layout });
  },
  'an undeclared removal beside a change': async () => {
    const office = await makeBuiltOffice();
    await office.edit('platform/base/labels.yaml', () => '# to do\n');
    await office.edit('apps/scale/host/package.yaml', (text) => text.replace('/opt/scale', '/opt/scale/new'));
    return record(office);
  },
  'an undeclared removal, corrected': async () => {
    const office = await makeBuiltOffice();
    const file = 'platform/base/labels.yaml';
    await office.edit(file, () => '# to do\n');
    await office.build();
    await office.edit(file, () => office.files[file] ?? '');
    return record(office);
  },
  'an undeclared removal that the last release cannot prevent': async () => {
    const office = await makeBuiltOffice();
    await loseCandidate(office);
    await office.edit('platform/base/labels.yaml', () => '# to do\n');
    return record(office);
  },
  'an undeclared removal that is allowed': async () => {
    const office = await makeBuiltOffice();
    await office.edit('platform/base/labels.yaml', () => '# to do\n');
    return record(office, { allowRemovals: { count: 1, names: new Set() } });
  },
  'a revoked bundle': async () => {
    const office = await makeBuiltOffice();
    await revoke(office);
    return record(office);
  },
  'a change after a revocation': async () => {
    const office = await makeBuiltOffice();
    await revoke(office);
    await change(office, 'one');
    return record(office);
  },
  'a rollout in stages': async () => {
    const office = await makeBuiltOffice();
    await writeFiles(office.folder, { 'platform/promotion/rollout.yaml': POLICY });
    await change(office, 'one');
    return record(office);
  },
  'a rollout that ends another': async () => {
    const office = await inStages();
    await change(office, 'two');
    return record(office);
  },
  'a rollout that was taken back': async () => {
    const office = await inStages();
    await takeBack(office);
    return record(office);
  },
  'missing signatures of a first release': async () => (await setUpSigners(await newWorld(2))).record(),
  'missing signatures of a change': async () => {
    const it = await setUpSigners(await newWorld(2));
    await it.build();
    await it.approve();
    await it.edit('/opt/shop');
    return it.record();
  },
  'a bundle that waited and is taken back': async () => {
    const it = await setUpSigners(await newWorld(2));
    await it.build();
    await it.approve();
    await it.edit('/opt/shop');
    await it.build();
    await it.edit('/opt/shop/web');
    return it.record();
  },
  'a root that needs more signatures': async () => {
    const world = await newWorld();
    const it = await setUpSigners(world);
    await it.build();
    await raiseThreshold(world, it.folder);
    return it.record();
  },
  'a direct change': async () => {
    const office = await openBuiltOffice();
    await office.promote('dev', 'qa');
    await office.build();
    office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
    return recordBuild(office.layout, () => office.build());
  },
  'a direct change that a policy forbids': async () => {
    const office = await openBuiltOffice();
    await office.promote('dev', 'qa');
    await office.build();
    office.commit({
      'promotion/qa.yaml': ours('PromotionPolicy', 'qa', 'spec: {from: dev, to: qa, direct: forbid}\n'),
      'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n'),
    });
    return recordBuild(office.layout, () => office.build());
  },
  'the same bundle of another candidate': async () => {
    const office = await openBuiltOffice();
    office.commit({ 'apps/shop/web/README.txt': 'for people\n' });
    return recordBuild(office.layout, () => office.build());
  },
  'the same bundle of another candidate, and the release ends soon': async () => {
    const office = await openBuiltOffice();
    office.commit({ 'apps/shop/web/README.txt': 'for people\n' });
    return recordBuild(office.layout, () => office.build({ now: LATER }));
  },
  'an environment that waits for a promotion, and whose release ends soon': async () => {
    const office = await openBuiltOffice();
    await office.promote('dev', 'qa');
    await office.build();
    await office.reject('qa', 'it corrupts labels');
    return recordBuild(office.layout, () => office.build({ now: LATER }));
  },
};

/** Sections '# case' of the recorded table. */
const TABLE = new Map(
  readFileSync(join(import.meta.dirname, 'outcomes.txt'), 'utf8')
    .split(/^# /m)
    .slice(1)
    .map((section) => {
      const [name = '', ...lines] = section.trimEnd().split('\n');
      return [name, lines] as const;
    }),
);

test('the recorded table has a section for each case, and covers each outcome of a channel', () => {
  expect([...TABLE.keys()]).toEqual(Object.keys(CASES));
  const found = new Set([...TABLE.values()].flat().filter((line) => line.startsWith('  outcome ')));
  const outcomes: readonly ChannelOutcome['outcome'][] = [
    'awaiting',
    'blocked',
    'direct-held',
    'empty',
    'released',
    'removals-held',
    'renewed',
    'revoked',
    'taken-back',
    'unchanged',
  ];
  expect([...found].toSorted()).toEqual(outcomes.map((outcome) => `  outcome "${outcome}"`));
});

test.for(Object.entries(CASES))('a build reports and writes as recorded: %s', async ([name, run]) => {
  expect(await run()).toEqual(TABLE.get(name));
});
