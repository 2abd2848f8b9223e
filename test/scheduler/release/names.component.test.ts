import { describe, expect, test } from 'vitest';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { readCandidate } from '../../../scheduler/assemble/candidate/read-candidate.ts';
import { writeFiles } from '../file-tree.ts';
import { ours } from '../fleet-platform.ts';
import { makeBuiltOffice, type Office, target, workload } from './removals/office.ts';

/** The packages of press with their workspaces and digests, and what is held. */
const build = async (office: Office) => {
  const { channels } = await office.build({ previous: office.layout });
  const press = channels.find(({ clusterType }) => clusterType === 'press');
  if (!press?.bundle) throw new Error('press has no bundle');
  const { config } = await readBundle((await openLayout(office.layout)).blobs, press.bundle);
  const packages = new Map(config.assignments.map((one) => [one.id, one]));
  return {
    outcome: press.outcome,
    packages,
    held: press.held.map(({ assignment, code }) => `${assignment} ${code}`),
  };
};

const registration = (name: string, workspace: string): string =>
  ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: ${workspace}\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  );

const application = (name: string, workspace: string, called: string, spec: string) => ({
  [`platform/base/${name}.yaml`]: registration(name, workspace),
  [`apps/${name}/deploy/workload.yaml`]: workload(called, target('host', 'prod', 'host')),
  [`apps/${name}/host/package.yaml`]: ours('HostPackage', 'files', `spec:\n${spec}`),
});

const file = (path: string, content: string): string => `  files: [{path: ${path}, content: "${content}"}]\n`;
const asks = (path: string, type: string): string =>
  `  files: [{path: ${path}, content: "A=1", format: env}]\n` +
  `  siteInputs: [{name: line, schema: {type: ${type}}, file: ${path}, pointer: /A}]\n`;

/** The victim's names come last, the newcomer's first. */
const victim = (spec: string) => application('zzz', 'ops', 'zzz', spec);
const newcomer = (spec: string) => application('aaa', 'evil', 'aaa', spec);

/** A second workload of the newcomer, which is called like the victim's. */
const takeName = (text: string): string => `${text}---\n${workload('zzz', target('host', 'prod', 'host'))}`;

const shared = ['ops', 'evil']
  .map((name) => ours('Workspace', name, 'spec:\n  host: {paths: [/srv/shared]}\n'))
  .join('---\n');

const heldOf = (workload: string, held: readonly string[]): readonly string[] =>
  held.filter((one) => one.startsWith(`${workload}-`));

describe('a name in use by another registration', () => {
  test("N45: taken by a workload that is called like another team's -> NAME_CLASH", async () => {
    const office = await makeBuiltOffice({
      ...victim(file('/etc/zzz/a', '1')),
      ...newcomer(file('/etc/aaa/a', '1')),
    });
    const before = await build(office);
    await office.edit('apps/aaa/deploy/workload.yaml', takeName);
    await office.edit('apps/zzz/host/package.yaml', (text) => text.replace('"1"', '"2"'));
    const { packages, held } = await build(office);
    expect(heldOf('zzz', held)).toEqual(['zzz-host NAME_CLASH']);
    expect(packages.get('zzz-host')?.workspace).toBe('ops');
    expect(packages.get('zzz-host')?.package).not.toBe(before.packages.get('zzz-host')?.package);
  });

  test('N45: taken while its owner cannot be read -> NAME_CLASH', async () => {
    const office = await makeBuiltOffice({
      ...victim(file('/etc/zzz/a', '1')),
      ...newcomer(file('/etc/aaa/a', '1')),
    });
    const before = await build(office);
    await office.edit('apps/zzz/deploy/workload.yaml', () => 'broken: [');
    await office.edit('apps/aaa/deploy/workload.yaml', takeName);
    const { packages, held } = await build(office);
    expect(heldOf('zzz', held)).toEqual(['zzz-host NAME_CLASH']);
    expect(packages.get('zzz-host')).toEqual(before.packages.get('zzz-host'));
  });

  test.for([
    ['is built', (text: string) => text.replace('"1"', '"2"')],
    ['is held', () => 'broken: ['],
  ] as const)('N44: a path of a package that %s -> OBJECT_CLASH', async ([, edit]) => {
    const office = await makeBuiltOffice({
      'platform/base/teams.yaml': shared,
      ...victim(file('/srv/shared/a', '1')),
      ...newcomer(file('/etc/aaa/a', '1')),
    });
    const before = await build(office);
    await office.edit('apps/zzz/host/package.yaml', edit);
    await office.edit('apps/aaa/host/package.yaml', (text) => text.replace('/etc/aaa/a', '/srv/shared/a'));
    const { packages, held } = await build(office);
    expect(heldOf('aaa', held)).toEqual(['aaa-host OBJECT_CLASH']);
    // The newcomer keeps its package of before, and the owner is built, or kept.
    expect(packages.get('aaa-host')?.package).toBe(before.packages.get('aaa-host')?.package);
    expect(packages.get('zzz-host')?.package === before.packages.get('zzz-host')?.package).toBe(
      held.some((one) => one.startsWith('zzz-host')),
    );
  });

  test('has the same owner when the candidate is built again, without looking at newer releases', async () => {
    const office = await makeBuiltOffice({
      'platform/base/teams.yaml': shared,
      ...victim(file('/srv/shared/a', '1')),
    });
    await build(office);
    // New, so that no package is kept for it: only the last release says whose path it is.
    await writeFiles(office.folder, newcomer(file('/srv/shared/a', '2')));
    const first = await office.build({ previous: office.layout });
    const [{ candidate } = {}] = first.environments;
    const layout = await openLayout(office.layout);
    const given = await readCandidate(candidate ?? '', [layout.blobs], new AbortController().signal);
    const again = await office.build({ previous: office.layout, candidate: given });
    expect(again.channels.map(({ bundle }) => bundle)).toEqual(first.channels.map(({ bundle }) => bundle));
    expect(again.channels.flatMap(({ held }) => held.map(({ code }) => code))).toContain('OBJECT_CLASH');
  });

  test('N47: a site value that another team reads, with another schema -> OUT_OF_BOUNDS', async () => {
    const office = await makeBuiltOffice({
      ...victim(asks('/etc/zzz/a', 'integer')),
      ...newcomer(file('/etc/aaa/a', '1')),
    });
    await build(office);
    await office.edit('apps/aaa/host/package.yaml', () =>
      ours('HostPackage', 'files', `spec:\n${asks('/etc/aaa/a', 'string')}`),
    );
    await office.edit('apps/zzz/host/package.yaml', (text) => text.replace('A=1', 'A=2'));
    const { packages, held } = await build(office);
    expect(held).toEqual(['aaa-host OUT_OF_BOUNDS']);
    expect(packages.get('zzz-host')?.bounds?.siteValues).toEqual(['line']);
  });
});
