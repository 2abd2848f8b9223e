import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { explainSite, formatSite } from '../../../../../scheduler/hub/questions/answers/explain-site.ts';
import { setValues } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { readBlame } from '../../../../../scheduler/load/sources/read-blame.ts';
import { NOW } from '../../../release/removals/office.ts';
import { config, LAYERS, layeredHub, type LayeredHub } from '../../sites/layers/layered-hub.ts';

const layers = (north: string): string =>
  [
    config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', `siteSelector: {region: north}\n  values: {gatewayHost: ${north}}`),
    config('line', 'siteSelector: {region: north, line: a}\n  fixed: true\n  values: {port: 82}'),
  ].join('---\n');

const LATER = new Date(NOW.getTime() + 3_600_000);

/** Commits platform and applications as someone, a number of minutes after the first build. */
const commit = (folder: string, author: string, minutes: number, message: string): string => {
  const date = new Date(NOW.getTime() + minutes * 60_000).toISOString();
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: author,
    GIT_AUTHOR_EMAIL: `${author}@example.com`,
    GIT_AUTHOR_DATE: date,
    GIT_COMMITTER_NAME: author,
    GIT_COMMITTER_EMAIL: `${author}@example.com`,
    GIT_COMMITTER_DATE: date,
  };
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8' }).trim();
  git('init', '--quiet');
  git('symbolic-ref', 'HEAD', 'refs/heads/main');
  git('add', 'platform', 'apps');
  git('commit', '--quiet', '-m', message);
  return git('rev-parse', 'HEAD');
};

/** A hub whose newest release was built from two commits: one of all layers, one that changed the value of the north. */
const office = async (platformOf: (folder: string) => string) => {
  const hub = await layeredHub({ [LAYERS]: layers('n1') });
  await hub.enrol('plant-1/edge', { region: 'north', line: 'a' });
  const first = commit(hub.folder, 'ann', 1, 'layers of the company');
  await hub.edit(LAYERS, () => layers('n2'));
  const second = commit(hub.folder, 'bob', 2, 'new gateway in the north');
  await hub.build({ now: LATER, platform: platformOf(hub.folder) });
  await hub.compose({ now: LATER });
  return { hub, first, second };
};

const explain = async (hub: LayeredHub) => {
  const cacheDirectory = join(hub.folder, 'cache');
  return await explainSite(hub, 'plant-1', {
    assignment: 'labels-host',
    blame: (asked) =>
      readBlame(
        asked.map((one) => ('url' in one ? one : { ...one, directory: join(hub.folder, 'platform') })),
        { cacheDirectory, env: { PATH: process.env['PATH'] }, signal: undefined },
      ),
  });
};

describe('the explanation of values from layers', () => {
  test.each([
    ['a folder', (folder: string) => join(folder, 'platform')],
    ['a repository by URL', (folder: string) => `file://${folder}#main:platform`],
  ])(
    'names layer, file and line, what it overrides, commit, author and time: from %s',
    async (_, platform) => {
      const { hub, first, second } = await office(platform);
      const agents = await explain(hub);
      expect(formatSite('plant-1', agents)).toEqual([
        'plant-1/edge  prod/press  release 1',
        '  labels-host',
        '    gatewayHost = "n2"  from layers',
        `      Config north (base, region=north) at base/layers.yaml:15:12, commit ${second.slice(0, 12)} by bob <bob@example.com> at 2026-11-23T08:02:00Z: new gateway in the north`,
        `      over "company" of Config all (base, every site) at base/layers.yaml:7:12, commit ${first.slice(0, 12)} by ann <ann@example.com> at 2026-11-23T08:01:00Z: layers of the company`,
        '      overrides "none"  from default',
        expect.stringContaining('to '),
        '    port = 82  from fixed layers',
        expect.stringMatching(
          /^ {6}Config line \(base, line=a, region=north\) at base\/layers\.yaml:24:12, commit /,
        ),
        '      overrides 80  from layers',
        expect.stringMatching(/^ {8}Config all \(base, every site\) at base\/layers\.yaml:7:\d+, commit /),
        '      overrides 1  from default',
        expect.stringContaining('to '),
      ]);
    },
  );

  test('names no commit of a line that was not committed before the build', async () => {
    const { hub } = await office((folder) => join(folder, 'platform'));
    await hub.edit(LAYERS, () => `# not committed\n${layers('n3')}`);
    const later = new Date(LATER.getTime() + 60_000);
    await hub.build({ now: later });
    await hub.compose({ now: later });
    const [agent] = await explain(hub);
    const [gateway] = agent?.assignments[0]?.inputs ?? [];
    expect(gateway?.used?.settings).toMatchObject([
      { layer: 'north', value: 'n3', at: 'base/layers.yaml:16:12' },
    ]);
    expect(gateway?.used?.settings?.[0]?.changed).toBe(undefined);
  });

  test('names no places of a value that the layers no longer give', async () => {
    const { hub } = await office((folder) => join(folder, 'platform'));
    await hub.edit(LAYERS, () => layers('n4'));
    await hub.build({ now: new Date(LATER.getTime() + 60_000) });
    const lines = formatSite('plant-1', await explainSite(hub, 'plant-1', { assignment: 'labels-host' }));
    expect(lines[2]).toBe(
      '    gatewayHost = "n2"  from layers, which the layers no longer give: see sites list',
    );
    expect(lines[3]).toBe('      overrides "none"  from default');
  });

  test('withholds values of layers that may be secrets, at every level', async () => {
    const secret = config('all', 'siteSelector: {}\n  values: {adminPassword: hunter2}');
    const higher = config('north', 'siteSelector: {region: north}\n  values: {adminPassword: hunter3}');
    const hub = await layeredHub({
      [LAYERS]: [secret, higher].join('---\n'),
      'apps/labels/host/package.yaml': `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata: {name: files}
spec:
  files: [{path: /etc/labels/line.env, format: env, content: "A=none\\n"}]
  siteInputs: [{name: adminPassword, schema: {type: string}, file: /etc/labels/line.env, pointer: /A}]
`,
    });
    await hub.enrol('plant-1/edge', { region: 'north' });
    await hub.compose();
    await setValues(
      hub.store,
      { site: 'plant-1', set: { adminPassword: 'hunter4' }, unset: [] },
      await siteSigner(hub),
      NOW,
    );
    const agents = await explain(hub);
    expect(JSON.stringify(agents)).not.toContain('hunter');
    expect(agents[0]?.assignments[0]?.inputs[0]?.overrides[0]?.settings).toMatchObject([
      { layer: 'north', value: 'withheld', overrides: [{ layer: 'all', value: 'withheld' }] },
    ]);
  });
});
