import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import Diff from '../../../scheduler/commands/diff.ts';
import Compare from '../../../scheduler/commands/observe/compare.ts';
import Explain from '../../../scheduler/commands/platform/explain.ts';
import { setValues } from '../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { runCommandClass } from '../commands/run-command-class.ts';
import { config, LAYERS, layeredHub, type LayeredHub } from '../hub/sites/layers/layered-hub.ts';
import { NOW } from '../release/removals/office.ts';

const layers = (north: string): string =>
  [
    config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', `siteSelector: {region: north}\n  values: {gatewayHost: ${north}}`),
  ].join('---\n');

const office = async (): Promise<LayeredHub> => {
  const hub = await layeredHub({ [LAYERS]: layers('n1') });
  await hub.enrol('plant-1/edge', { region: 'north' });
  await hub.enrol('plant-2/edge', { region: 'north' });
  await hub.enrol('plant-3/edge', { region: 'south' });
  const signer = await siteSigner(hub);
  await setValues(hub.store, { site: 'plant-2', set: { gatewayHost: 'own' }, unset: [] }, signer, NOW);
  await hub.compose();
  return hub;
};

const places = ({ folder, layout }: LayeredHub, db = true): readonly string[] => [
  '--platform',
  join(folder, 'platform'),
  '--cache',
  join(folder, 'cache'),
  ...(db ? ['--keys', join(folder, 'keys'), '--layout', layout, '--db', join(folder, 'hub.db')] : []),
];

const linesOf = (out: string): readonly string[] => out.trimEnd().split('\n');

describe('diff --site', () => {
  test('names values with old and new, the packages that would be applied again, and no others', async () => {
    const hub = await office();
    await hub.edit(LAYERS, () => layers('n2'));
    const all = await runCommandClass(Diff, [
      '--sites',
      '--environment',
      'prod',
      '--exit-code',
      ...places(hub),
    ]);
    expect([all.err, all.code]).toEqual(['', 8]);
    expect(linesOf(all.out)).toEqual([
      'plant-1/edge  prod/press',
      '  labels-host  other values',
      '    gatewayHost "n1" -> "n2"',
      '1 of 3 agents would change: 1 packages would be applied again',
    ]);
    const one = await runCommandClass(Diff, [
      '--site',
      'plant-3',
      '--site',
      'plant-2',
      '--json',
      ...places(hub),
    ]);
    expect(JSON.parse(one.out)).toMatchObject({
      agents: [
        { site: 'plant-2', agent: 'edge', channel: 'prod/press', assignments: [] },
        { site: 'plant-3', assignments: [] },
      ],
      findings: [],
    });
  });

  test('names another package, and a value that would not fit', async () => {
    const hub = await office();
    await hub.edit('apps/scale/host/package.yaml', (text) => text.replace('/opt/scale', '/opt/scale/data'));
    await hub.edit('apps/labels/host/package.yaml', (text) =>
      text.replace('type: string', 'type: integer').replace('default: none', 'default: 1'),
    );
    const done = await runCommandClass(Diff, ['--site', 'plant-2', ...places(hub)]);
    expect(linesOf(done.out)).toEqual([
      'plant-2/edge  prod/press',
      '  scale-host  another package',
      '1 of 1 agents would change: 1 packages would be applied again',
    ]);
    expect(done.err).toContain(
      'the value gatewayHost of plant-2/edge does not fit labels-host of prod/press: gatewayHost must be integer; its type was string in the last release, and is integer now',
    );
  });

  test('refuses an unknown site with the nearest one', async () => {
    const hub = await office();
    const done = await runCommandClass(Diff, ['--site', 'plant-4', ...places(hub)]);
    expect(done.err).toMatch(/SITE_MISSING: there is no site plant-4\. Did you mean plant-/);
  });
});

describe('compare --sites', () => {
  test('names the values that differ with both, and withholds what may be secret', async () => {
    const hub = await office();
    const at = [
      '--keys',
      join(hub.folder, 'keys'),
      '--layout',
      hub.layout,
      '--db',
      join(hub.folder, 'hub.db'),
    ];
    const compare = async (...sites: readonly string[]) => {
      const done = await runCommandClass(Compare, ['--sites', ...sites, ...at]);
      return [...linesOf(done.out), ...linesOf(done.err)].filter((line) => line !== '');
    };
    expect(await compare('plant-1', 'plant-3')).toEqual([
      'plant-1/edge and plant-3/edge  labels-host: other values',
      '    gatewayHost  plant-1: "n1"  plant-3: "company"',
      '1 assignments differ at plant-1 and plant-3.',
    ]);
    await hub.enrol('plant-4/press', { region: 'north' });
    expect(await compare('plant-1', 'plant-4')).toEqual([
      'plant-1/edge and plant-4/press  labels-host: other values',
      '    gatewayHost  plant-1: "n1"  plant-4: "none"',
      '    port  plant-1: 80  plant-4: 1',
      '1 assignments differ at plant-1 and plant-4.',
    ]);
    await hub.compose();
    expect(await compare('plant-1', 'plant-4')).toEqual([
      'plant-1 and plant-4 have the same packages and values.',
    ]);
    expect(await compare('plant-1', 'plant-9')).toEqual([expect.stringContaining('SITE_MISSING')]);
  });
});

describe('explain --if', () => {
  test('names layers, sites, packages and changes of a value, with labels that select sites', async () => {
    const hub = await office();
    const done = await runCommandClass(Explain, [
      '--if',
      'region=north,port=81',
      '--environment',
      'prod',
      ...places(hub),
    ]);
    expect([done.err, done.code]).toEqual(['', 0]);
    expect(linesOf(done.out)).toEqual([
      'labels  region=north',
      '  Config all (every site) at base/layers.yaml:1:1 applies',
      '  Config north (region=north) at base/layers.yaml:9:1 applies',
      'value  port = 81',
      '  taken by prod/press labels-host',
      'plant-1/edge  prod/press',
      '  labels-host  other values',
      '    port 80 -> 81',
      'plant-2/edge  prod/press',
      '  labels-host  other values',
      '    port 80 -> 81',
      '2 of 2 agents would change: 2 packages would be applied again',
    ]);
  });

  test('names a tie with a layer, a value that does not fit, and one that nothing takes', async () => {
    const hub = await office();
    const json = async (terms: string) => {
      const done = await runCommandClass(Explain, ['--if', terms, '-e', 'prod', '--json', ...places(hub)]);
      return JSON.parse(done.out) as {
        labels: object;
        takers: Record<string, string[]>;
        findings: { kind: string; agents: string[] }[];
      };
    };
    expect((await json('region=north,gatewayHost=n9')).findings).toMatchObject([
      { kind: 'tie', agents: ['plant-1/edge', 'plant-2/edge'] },
    ]);
    expect((await json('region=south,port=high')).findings).toMatchObject([
      { kind: 'wrong', agents: ['plant-3/edge'] },
    ]);
    expect(await json('region=south,prot=1')).toMatchObject({ labels: { region: 'south', prot: '1' } });
  });

  test('works from the repository alone, and refuses a term without a value', async () => {
    const hub = await office();
    const done = await runCommandClass(Explain, [
      '--if',
      'region=north',
      '-e',
      'prod',
      ...places(hub, false),
    ]);
    expect(linesOf(done.out).at(-1)).toBe('0 agents have these labels');
    const wrong = await runCommandClass(Explain, ['--if', 'region', '-e', 'prod', ...places(hub, false)]);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('"region" is not <name>=<value>')]);
  });
});
