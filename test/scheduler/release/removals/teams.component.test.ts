import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { openLayout } from '#bundles/formats/layout/layout';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { parseAllowance } from '../../../../scheduler/settings/allowance.ts';
import {
  directory,
  makeBuiltOffice,
  makeOffice,
  type Office,
  registration,
  summarise,
  target,
  workload,
} from './office.ts';

const SCALE = 'apps/scale/deploy/workload.yaml';
const LABELS = 'apps/labels/deploy/workload.yaml';
const BROKEN = (): string => 'kind: [Workload\n';

const packagesOf = async (office: Office) => {
  const channel = { environment: 'prod', clusterType: 'press' };
  const layout = await openLayout(office.layout);
  const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
  const release = await readRelease(layout, channel, roots);
  return (await readBundle(layout.blobs, release?.subjects.get('bundle/host') ?? digestOf(''))).config
    .assignments;
};
const namesOf = async (office: Office) => (await packagesOf(office)).map(({ id }) => id);

/** The lines of the presses, which come before those of the tills. */
const build = async (office: Office, options = {}) => {
  const lines = summarise(await office.build({ previous: office.layout, ...options }));
  return lines.slice(
    0,
    lines.findIndex((line) => line.startsWith('till')),
  );
};

/** Another team gets a new version out whatever this one does. */
const changeInfo = (office: Office, to: string) =>
  office.edit('apps/info/host/package.yaml', () => directory(to));

test('N72: a renamed target stays as it was, the new one waits, and the other packages are released', async () => {
  const office = await makeBuiltOffice();
  await office.edit(SCALE, (text) => text.replace('name: host', 'name: desk'));
  await changeInfo(office, '/opt/info/2');
  const outcome = await office.build();
  expect(outcome.channels[0]?.waits?.code).toBe('REMOVALS_HELD');
  expect(outcome.channels[0]?.held).toMatchObject([
    { assignment: 'scale-desk', code: 'REMOVALS_HELD' },
    { assignment: 'scale-host', code: 'REMOVALS_HELD' },
  ]);
  expect(await namesOf(office)).toEqual(['info-screen', 'labels-host', 'scale-host']);
  expect(await build(office, { allowRemovals: parseAllowance(['scale-host']) })).toMatchObject([
    'press released 3',
    expect.stringContaining('  scale-host: '),
  ]);
  expect(await namesOf(office)).toEqual(['info-screen', 'labels-host', 'scale-desk']);
  expect(await build(office)).toEqual(['press unchanged 3']);
});

test('a target that is renamed back is released without a confirmation', async () => {
  const office = await makeBuiltOffice();
  await office.edit(SCALE, (text) => text.replace('name: host', 'name: desk'));
  await build(office);
  await office.edit(SCALE, (text) => text.replace('name: desk', 'name: host'));
  expect(await build(office)).toEqual(['press unchanged 1']);
});

test('a kept package is removed with its registration, even releases later', async () => {
  const office = await makeBuiltOffice();
  await office.edit(SCALE, (text) => text.replace('name: host', 'name: desk'));
  await changeInfo(office, '/opt/info/2');
  await build(office);
  await changeInfo(office, '/opt/info/3');
  await build(office);
  await office.edit('platform/base/scale.yaml', undefined);
  expect(await build(office)).toEqual([
    'press released 4',
    '  scale-host: WorkloadRegistration scale was deleted',
  ]);
});

test('N73: a withdrawn registration goes although another application of its team cannot be read', async () => {
  const office = await makeBuiltOffice();
  await office.edit(LABELS, BROKEN);
  await office.edit('platform/base/scale.yaml', undefined);
  const outcome = await office.build({ previous: office.layout });
  expect(summarise(outcome).slice(0, 2)).toEqual([
    'press released 2',
    '  scale-host: WorkloadRegistration scale was deleted',
  ]);
  expect(outcome.environments[0]?.heldWorkloads[0]?.errors[0]?.code).toBe('REFERENCE_MISSING');
  expect(await namesOf(office)).toEqual(['info-screen', 'labels-host']);
});

test('a registration that was unreadable for some releases can be withdrawn', async () => {
  const office = await makeBuiltOffice();
  await office.edit(SCALE, BROKEN);
  for (const to of ['/opt/info/2', '/opt/info/3']) {
    await changeInfo(office, to);
    await build(office);
  }
  expect(await namesOf(office)).toContain('scale-host');
  await office.edit('platform/base/scale.yaml', undefined);
  expect(await build(office)).toEqual([
    'press released 4',
    '  scale-host: WorkloadRegistration scale was deleted',
  ]);
});

test('N74: a package that another one depends on can be withdrawn; the other stays, without that dependency', async () => {
  const office = await makeOffice({
    [SCALE]: workload(
      'scale',
      target('host', 'prod', 'host').replace('labels:', 'dependsOn: [labels-host], labels:'),
      target('till', 'prod', 'till'),
    ),
  });
  await office.build();
  expect((await packagesOf(office)).find(({ id }) => id === 'scale-host')?.dependsOn).toEqual([
    'labels-host',
  ]);
  await office.edit('platform/base/labels.yaml', undefined);
  await changeInfo(office, '/opt/info/2');
  const outcome = await office.build({ previous: office.layout });
  expect(summarise(outcome).slice(0, 2)).toEqual([
    'press released 2',
    '  labels-host: WorkloadRegistration labels was deleted',
  ]);
  expect(outcome.channels[0]?.held[0]?.code).toBe('DEPENDENCY_MISSING');
  const [, scale] = await packagesOf(office);
  expect(scale).toMatchObject({ id: 'scale-host', dependsOn: [] });
});

test('a package that depends on a held one is kept, too', async () => {
  const office = await makeBuiltOffice({
    'platform/base/two.yaml': registration('two'),
    'apps/two/deploy/workload.yaml': workload(
      'two',
      target('host', 'prod', 'host').replace('labels:', 'dependsOn: [scale-desk], labels:'),
    ),
    'apps/two/host/package.yaml': directory('/opt/two'),
    [SCALE]: workload('scale', target('desk', 'prod', 'host'), target('till', 'prod', 'till')),
  });
  await office.edit(SCALE, (text) => text.replace('name: desk', 'name: new'));
  await office.edit('apps/two/deploy/workload.yaml', (text) => text.replace('scale-desk', 'scale-new'));
  await changeInfo(office, '/opt/info/2');
  await build(office);
  expect(await namesOf(office)).toEqual(['info-screen', 'labels-host', 'scale-desk', 'two-host']);
});
