import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { formatError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { parseAllowance } from '../../../../scheduler/settings/allowance.ts';
import { explainRemoval } from '../../../../scheduler/release/removals/explain-removal.ts';
import { readWaiting } from '../../../../scheduler/release/removals/waiting.ts';
import { clusterType } from '../../model-objects.ts';
import {
  directory,
  makeBuiltOffice,
  makeOffice,
  type Office,
  summarise,
  target,
  workload,
} from './office.ts';

type Edit = readonly [file: string, change: ((text: string) => string) | undefined];

const afterwards = async (office: Office, ...edits: readonly Edit[]) => {
  for (const [file, change] of edits) await office.edit(file, change);
  return await office.build();
};

const instead = (from: string, to: string) => (text: string) => text.replaceAll(from, to);
/** Digests of the packages that the presses have now. */
const packagesOf = async (office: Office): Promise<ReadonlyMap<string, string>> => {
  const channel = { environment: 'prod', clusterType: 'press' };
  const layout = await openLayout(office.layout);
  const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
  const release = await readRelease(layout, channel, roots);
  const { config } = await readBundle(layout.blobs, release?.subjects.get('bundle/host') ?? digestOf(''));
  return new Map(config.assignments.map((one) => [one.id, one.package]));
};
const LABELS = 'apps/labels/deploy/workload.yaml';
const SCALE = 'apps/scale/deploy/workload.yaml';

test('a first release removes nothing, also in a new environment', async () => {
  const office = await makeOffice();
  expect(summarise(await office.build())).toEqual(['press released 1', 'till released 1']);
  for (const [file, change] of [
    ['platform/fleet.yaml', instead('prod', 'live')],
    [LABELS, instead('prod', 'live')],
    [SCALE, instead('prod', 'live')],
    ['apps/info/deploy/workload.yaml', instead('prod', 'live')],
  ] as const)
    await office.edit(file, change);
  expect(summarise(await office.build({ environments: ['live'] }))).toEqual([
    'press released 1',
    'till released 1',
  ]);
});

const MISTAKES: Readonly<Record<string, readonly [...Edit, string]>> = {
  'an emptied registration': [
    'platform/base/labels.yaml',
    () => '# to do\n',
    'labels-host: WorkloadRegistration labels is gone from base/labels.yaml, which still exists and declares nothing',
  ],
  'a Workload without targets': [
    LABELS,
    () => 'apiVersion: fleet-ferry/v1alpha1\nkind: Workload\nmetadata: {name: labels}\nspec: {}\n',
    'labels-host: DeploymentTarget labels-host is gone from the application of WorkloadRegistration labels, which still exists and declares nothing',
  ],
  'a misspelled name of a Workload': [
    LABELS,
    instead('name: labels', 'name: lables'),
    'labels-host: DeploymentTarget labels-host is gone from the application of WorkloadRegistration labels, which declares new ones instead',
  ],
  'a folder of another application': [
    'platform/base/labels.yaml',
    instead('../apps/labels', '../apps/other'),
    'labels-host: DeploymentTarget labels-host is gone from the application of WorkloadRegistration labels, which declares new ones instead',
  ],
  'an emptied file of policies': [
    'platform/base/screens.yaml',
    () => '',
    'info-screen: SchedulingPolicy screens is gone from base/screens.yaml, which still exists and declares nothing',
  ],
  'a label of a policy that no cluster type has': [
    'platform/base/screens.yaml',
    instead('place: hall', 'place: halls'),
    'info-screen: no policy selects it for press any more',
  ],
  'a label that no policy selects and that is near to none': [
    'apps/info/deploy/workload.yaml',
    instead('runs: screen', 'runs: elsewhere'),
    'info-screen: no policy selects it for press any more',
  ],
};

/** An application that no registration has. */
const OTHER = {
  'apps/other/deploy/workload.yaml': workload('other', target('one', 'prod', 'host')),
  'apps/other/host/package.yaml': directory('/opt/labels/other'),
};

test.for(Object.entries(MISTAKES))(
  '%s keeps the package with the reason; the rest of the channel is released',
  async ([, [file, change, reason]]) => {
    const office = await makeBuiltOffice(OTHER);
    await office.edit('apps/scale/host/package.yaml', instead('/opt/scale', '/opt/scale/new'));
    const before = await packagesOf(office);
    const outcome = await afterwards(office, [file, change]);
    expect(summarise(outcome)).toEqual(['press released 2', `  keeps ${reason}`, 'till released 2']);
    const after = await packagesOf(office);
    const [kept = ''] = reason.split(':');
    expect([...after.keys()]).toEqual([...before.keys()]);
    expect(after.get(kept)).toBe(before.get(kept));
    expect(after.get('scale-host')).not.toBe(before.get('scale-host'));
    // The next build decides the same, and asks again.
    expect(summarise(await office.build())).toMatchObject([
      'press unchanged 2',
      expect.stringContaining(`  keeps ${kept}: `),
      'till unchanged 2',
    ]);
    const [press] = outcome.channels;
    expect(press?.waits).toMatchObject({ code: 'REMOVALS_HELD', subject: 'prod/press' });
    const waiting = await readWaiting(await openLayout(office.layout), {
      environment: 'prod',
      clusterType: 'press',
    });
    expect(waiting).toEqual([`REMOVALS_HELD: would remove ${reason}`]);
  },
);

const SLIPS: Readonly<Record<string, readonly [...Edit, string]>> = {
  'a label that is nearly what a policy selects': [
    LABELS,
    instead('runs: host', 'runs: hots'),
    '8:54: REFERENCE_MISSING: DeploymentTarget labels-host: no policy selects the label runs: hots. Did you mean runs: host, as policy halls has it?',
  ],
  'the key of a label': [
    LABELS,
    instead('runs: host', 'run: host'),
    '8:53: REFERENCE_MISSING: DeploymentTarget labels-host: no policy selects the label run. Did you mean runs, as policy halls has it?',
  ],
  'an environment': [
    LABELS,
    instead('environment: prod', 'environment: prd'),
    '8:33: REFERENCE_MISSING: Workload labels: target host is for the environment prd, which the fleet does not have. Did you mean prod? It has qa, prod.',
  ],
  'an emptied Workload': [
    LABELS,
    () => '',
    '7:13: REFERENCE_MISSING: WorkloadRegistration labels: there is no Workload in ',
  ],
};

test.for(Object.entries(SLIPS))(
  '%s with a misspelling is held with its position, and its last good package stays',
  async ([, [file, change, told]]) => {
    const office = await makeBuiltOffice();
    await office.edit(file, change);
    const blocked = await office.build();
    expect(summarise(blocked).slice(0, 2)).toEqual([
      'press blocked 1',
      '  labels-host: it is held; give --previous with the layout of the last release',
    ]);
    expect(
      blocked.environments
        .flatMap(({ heldWorkloads }) => heldWorkloads.flatMap(({ errors }) => errors.map(formatError)))
        .join(),
    ).toContain(told);
    expect(summarise(await office.build({ previous: office.layout }))).toEqual([
      'press unchanged 1',
      'till unchanged 1',
    ]);
  },
);

const MEANT: Readonly<Record<string, readonly [readonly Edit[], readonly string[]]>> = {
  'the registration': [
    [['platform/base/labels.yaml', undefined]],
    ['press released 2', '  labels-host: WorkloadRegistration labels was deleted', 'till unchanged 1'],
  ],
  'the registration and its repository': [
    [
      ['platform/base/labels.yaml', undefined],
      [LABELS, undefined],
    ],
    ['press released 2', '  labels-host: WorkloadRegistration labels was deleted', 'till unchanged 1'],
  ],
  'one target of a Workload': [
    [[SCALE, () => workload('scale', target('till', 'prod', 'till'))]],
    ['press released 2', '  scale-host: DeploymentTarget scale-host was deleted', 'till unchanged 1'],
  ],
  'the last target in this environment of a Workload that has others': [
    [[LABELS, () => workload('labels', target('host', 'qa', 'host'))]],
    ['press released 2', '  labels-host: DeploymentTarget labels-host was deleted', 'till unchanged 1'],
  ],
  'a policy with its file': [
    [['platform/base/screens.yaml', undefined]],
    ['press released 2', '  info-screen: SchedulingPolicy screens was deleted', 'till unchanged 1'],
  ],
  'one policy of a file': [
    [['platform/base/policies.yaml', (text) => text.split('---\n')[0] ?? '']],
    ['press unchanged 1', 'till released 2', '  scale-till: SchedulingPolicy shops was deleted'],
  ],
  'a target from one cluster type for another': [
    [['apps/info/deploy/workload.yaml', instead('runs: screen', 'runs: till')]],
    ['press released 2', '  info-screen: moves to till', 'till released 2'],
  ],
};

test.for(Object.entries(MEANT))('removing %s is released, and listed', async ([, [edits, told]]) => {
  const office = await makeBuiltOffice();
  expect(summarise(await afterwards(office, ...edits))).toEqual(told);
});

test('a kept package is removed when it is allowed by name or number, and nothing stays pending', async () => {
  const office = await makeBuiltOffice();
  await office.edit('platform/base/policies.yaml', instead('place: hall', 'place: nowhere'));
  const allow = async (...words: readonly (string | number)[]) =>
    summarise(await office.build({ allowRemovals: parseAllowance(words) })).filter((line) =>
      line.startsWith('press'),
    );
  expect(await allow()).toEqual(['press unchanged 1']);
  expect(await allow(1)).toEqual(['press unchanged 1']);
  expect(await allow('labels-host')).toEqual(['press released 2']);
  expect(await allow(1)).toEqual(['press released 3']);
  const layout = await openLayout(office.layout);
  expect(await readWaiting(layout, { environment: 'prod', clusterType: 'press' })).toEqual([]);
});

test("an object deleted before another channel's release still counts as deleted", async () => {
  const office = await makeBuiltOffice();
  // The tills get an application that the presses do not have; their releases have other candidates from here on.
  await office.edit(SCALE, (text) => `${text}${target('desk', 'prod', 'till')}`);
  expect(summarise(await office.build())).toEqual(['press unchanged 1', 'till released 2']);
  expect(
    summarise(await afterwards(office, [SCALE, (text) => text.replace(target('host', 'prod', 'host'), '')])),
  ).toEqual([
    'press released 2',
    '  scale-host: DeploymentTarget scale-host was deleted',
    'till unchanged 2',
  ]);
});

test('a deletion beside an error excuses only the deleted package', async () => {
  const office = await makeBuiltOffice();
  const outcome = await afterwards(
    office,
    ['platform/base/labels.yaml', undefined],
    ['platform/base/screens.yaml', instead('runs: screen', 'runs: wall')],
  );
  expect(summarise(outcome)).toEqual([
    'press released 2',
    '  labels-host: WorkloadRegistration labels was deleted',
    '  keeps info-screen: no policy selects it for press any more',
    'till unchanged 1',
  ]);
  expect(outcome.channels[0]?.waits?.message).toBe(
    'the release would remove info-screen, although no object was deleted',
  );
});

test('the deletions of a release are unknown when its candidate, made by an older version, declares nothing', () => {
  const declarations = { declared: [], places: new Map() };
  const platform = { targets: [], policies: [], declarations };
  expect(explainRemoval('labels-host', clusterType('press'), platform, [{}])).toEqual({ why: 'unknown' });
});

test.each(['', 'Upper', '-1', 'a b'])('%o is refused as an allowance', (word) => {
  expect(() => parseAllowance([word])).toThrow('is neither a number nor a package');
});
