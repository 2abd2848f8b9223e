import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import AuditList from '../../../scheduler/commands/audit/list.ts';
import SitesExport from '../../../scheduler/commands/sites/export.ts';
import SitesImport from '../../../scheduler/commands/sites/import.ts';
import SitesSet from '../../../scheduler/commands/sites/set.ts';
import TokensHosts from '../../../scheduler/commands/tokens/hosts.ts';
import { siteReference } from '../../../scheduler/load/releases/references.ts';
import { readDocuments } from '../../../scheduler/load/releases/artifact.ts';
import { ask, HOSTS, hubsAfter, type TestHub, testAgent } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

const AGENTS = [
  ['plant-1/press-1', { region: 'north' }],
  ['plant-2/press-1', { region: 'north', line: 'a' }],
  ['plant-2/press-2', { region: 'south' }],
  ['plant-3/press-1', { region: 'south' }],
] as const;

/** Three sites whose release asks for lineNumber and ratio. */
const plants = hubsAfter(async (hub) => {
  for (const [id, labels] of AGENTS) {
    const stick = await hub.stick(`enrol-${id.replace('/', '-')}`);
    await ask(stick, testAgent(id), { channel: HOSTS, labels });
    await hub.enroll(stick);
  }
  const siteInputs = { lineNumber: { type: 'integer', minimum: 1 }, ratio: { type: 'number' } };
  const bundles = [{ kind: 'host' as const, packages: { app: { 'package.json': '{}' } }, siteInputs }];
  await hub.layoutWriter.release({ channel: HOSTS, version: 3, bundles });
  return {};
});

const places = (hub: TestHub): readonly string[] =>
  Object.entries({
    keys: join(hub.path, 'keys'),
    layout: hub.layout,
    db: join(hub.path, 'hub.db'),
    now: '2026-11-21T08:00:00Z',
  }).flatMap(([flag, value]) => [`--${flag}`, value]);

const run = (hub: TestHub, command: Parameters<typeof runCommandClass>[0], ...words: readonly string[]) =>
  runCommandClass(command, [...words, ...places(hub)]);

/** Version and values of each site in the layout. */
const laidOut = async (hub: TestHub) => {
  const layout = await openLayout(hub.layout);
  const found: Record<string, unknown> = {};
  for (const site of ['plant-1', 'plant-2', 'plant-3']) {
    const documents = await readDocuments(layout, siteReference(site));
    const row = await hub.store.db
      .selectFrom('site')
      .selectAll()
      .where('name', '=', site)
      .executeTakeFirstOrThrow();
    expect(documents.find(({ role }) => role === 'site')?.version).toBe(row.version);
    const { values, agents } = JSON.parse(row.site_values) as { values: object; agents: object };
    found[site] = [row.version, values, agents];
  }
  return found;
};

it('sites set --select writes one statement for each site that has an agent with the labels', async () => {
  await using hub = await plants();
  const before = await laidOut(hub);
  const dry = await run(hub, SitesSet, '--select', 'region=north', 'lineNumber=7', 'ratio=0.5', '--dry-run');
  expect(dry.out).toBe(
    `plant-1  lineNumber: nothing -> 7  ratio: nothing -> 0.5
plant-2  lineNumber: nothing -> 7  ratio: nothing -> 0.5
2 of 2 sites would change; nothing was changed
`,
  );
  // Values of a site reach all its agents.
  const also =
    '! values of a site are for all its agents: plant-2/press-2 lacks region=north and is at a selected site. With --agents the values are set at the selected agents alone.\n';
  expect(dry.err).toBe(also);
  expect(await laidOut(hub)).toEqual(before);
  const made = await run(hub, SitesSet, '--select', 'region=north', 'lineNumber=7', 'ratio=0.5');
  expect([made.code, made.err]).toEqual([0, also]);
  expect(made.out).toContain('2 of 2 sites changed; the next medium carries their statements');
  const after = await laidOut(hub);
  expect(after).toEqual({
    'plant-1': [2, { lineNumber: 7, ratio: 0.5 }, {}],
    'plant-2': [3, { lineNumber: 7, ratio: 0.5 }, {}],
    'plant-3': before['plant-3'],
  });
  const again = await run(hub, SitesSet, '--select', 'region=north', 'lineNumber=7', '--json');
  expect(again.json()).toMatchObject({ sites: [] });
  expect(await laidOut(hub)).toEqual(after);
  const log = await runCommandClass(AuditList, ['--layout', hub.layout, '--keys', join(hub.path, 'keys')]);
  expect(log.out.match(/sites set/g), log.err).toHaveLength(2);
});

it('sites set --select completes a run that was interrupted before its statements were in the layout', async () => {
  await using hub = await plants();
  const values = ['--select', 'region=north', 'lineNumber=7'];
  const copy = join(hub.path, 'before');
  await cp(hub.layout, copy, { recursive: true });
  await run(hub, SitesSet, ...values);
  const after = await laidOut(hub);
  await cp(join(copy, 'index.json'), join(hub.layout, 'index.json'));
  const again = await run(hub, SitesSet, ...values);
  expect(again.out).toBe('0 of 2 sites changed\n');
  expect(again.err).toMatch(/also brought up to date in .*: 2 statements$/m);
  expect(await laidOut(hub)).toEqual(after);
});

it('sites set --dry-run prints the values of one site without changing them', async () => {
  await using hub = await plants();
  const before = await laidOut(hub);
  const dry = await run(hub, SitesSet, 'plant-1', 'lineNumber=7', '--dry-run');
  expect(dry.out).toBe('plant-1  lineNumber: nothing -> 7\n1 of 1 site would change; nothing was changed\n');
  expect(await run(hub, SitesSet, 'plant-1', 'lineNumber=x', '--dry-run')).toMatchObject({ code: 4 });
  expect(await laidOut(hub)).toEqual(before);
});

it('sites set --agents sets values of single agents, and --unset requires a reason', async () => {
  await using hub = await plants();
  await run(hub, SitesSet, '--select', 'region=south', '--agents', 'lineNumber=9');
  expect(await laidOut(hub)).toMatchObject({
    'plant-2': [3, {}, { 'press-2': { lineNumber: 9 } }],
    'plant-3': [2, {}, { 'press-1': { lineNumber: 9 } }],
  });
  const unset = ['--select', 'region=south', '--agents', '--unset', 'lineNumber'];
  expect(await run(hub, SitesSet, ...unset)).toMatchObject({ code: 2 });
  const taken = await run(hub, SitesSet, ...unset, '--reason', 'a mistake');
  expect(taken.out).toContain('plant-3/press-1  lineNumber: 9 -> nothing');
  expect(await laidOut(hub)).toMatchObject({ 'plant-2': [4, {}, { 'press-2': {} }] });
});

it.each([
  [
    ['--select', 'region=west', 'lineNumber=7'],
    'SITE_MISSING: no site has an agent with region=west. Agents have the labels line=a, region=north, region=south',
  ],
  [['--select', 'region', 'lineNumber=7'], 'USAGE: "region" is not <label>=<value>'],
  [['--select', 'region=north'], 'USAGE: no value is given'],
  [
    ['--select', 'region=north', 'lineNumber=x'],
    'the value does not fit release 3 of prod/factory-host: lineNumber must be integer',
  ],
  [['--select', 'region=north', 'lineNumbr=7'], 'Did you mean lineNumber?'],
  [
    ['--select', 'region=north', '--agent', 'press-1', 'lineNumber=7'],
    'USAGE: --agent does not go with --select',
  ],
  [['plant-1', '--freshness', 'release', '--dry-run'], 'USAGE: --freshness does not go with --dry-run'],
  [['plant-1', '--agents', 'lineNumber=7'], 'USAGE: --agents says whose values'],
  [['lineNumber=7'], 'USAGE: no value is given'],
])('refuses %j and changes nothing', async (words, message) => {
  await using hub = await plants();
  const before = await laidOut(hub);
  const { code, err } = await run(hub, SitesSet, ...words);
  expect(err).toContain(message);
  expect(code).not.toBe(0);
  expect(await laidOut(hub)).toEqual(before);
});

it('sites import reads the values of many sites from a CSV, and sites export writes the same', async () => {
  await using hub = await plants();
  const file = join(hub.path, 'values.csv');
  await writeFile(file, 'site,agent,lineNumber,ratio\nplant-1,,1,0.5\nplant-2,press-2,2,\nplant-3,,,1\n');
  const made = await run(hub, SitesImport, file);
  expect(made.out).toContain('3 of 3 sites changed');
  const csv = await run(hub, SitesExport);
  expect(csv.out).toBe(
    'site,agent,lineNumber,ratio\nplant-1,,1,0.5\nplant-2,,,\nplant-2,press-2,2,\nplant-3,,,1\n',
  );
  const after = await laidOut(hub);
  await writeFile(file, csv.out);
  expect((await run(hub, SitesImport, file)).out).toBe('0 of 3 sites changed\n');
  expect(await laidOut(hub)).toEqual(after);
});

it('sites import reports every invalid line of a CSV, and changes no site', async () => {
  await using hub = await plants();
  const before = await laidOut(hub);
  const file = join(hub.path, 'values.csv');
  await writeFile(file, 'site,lineNumber\nplant-1,7\nplant-2,x\nplant-3,0\nplant-9,1\n');
  const { code, err } = await run(hub, SitesImport, file);
  expect(code).not.toBe(0);
  expect(err).toMatch(/values\.csv:3:1: SITE_VALUES: plant-2: /);
  expect(err).toMatch(/values\.csv:4:1: SITE_VALUES: plant-3: /);
  expect(err).toMatch(/values\.csv:5:1: SITE_MISSING/);
  expect(await laidOut(hub)).toEqual(before);
  expect(err).toContain('3 values or sites do not fit, and no site was changed');
});

it('sites import and tokens hosts name a CSV that is not there', async () => {
  await using hub = await plants();
  const file = join(hub.path, 'list.csv');
  for (const ran of [
    await run(hub, SitesImport, file),
    await run(hub, TokensHosts, file, '--out', join(hub.path, 'hosts.json')),
  ])
    expect(ran).toMatchObject({
      code: 5,
      err: expect.stringContaining(`SOURCE_MISSING: there is no file ${file}`),
    });
});

it.each([
  ['the code page of a spreadsheet', Buffer.from('site,lineNumber\nMühle,7\n', 'latin1')],
  ['UTF-16', Buffer.from('\uFEFFsite,lineNumber\nplant-1,7\n', 'utf16le')],
])(
  'sites import and tokens hosts refuse a CSV in %s, whose letters would become others',
  async (_, bytes) => {
    await using hub = await plants();
    const before = await laidOut(hub);
    const file = join(hub.path, 'list.csv');
    await writeFile(file, bytes);
    for (const ran of [
      await run(hub, SitesImport, file),
      await run(hub, TokensHosts, file, '--out', join(hub.path, 'hosts.json')),
    ]) {
      expect(ran.err).toContain(`${file}: FIELD_INVALID: this is not text in UTF-8. Save it as "CSV UTF-8"`);
      expect(ran.code).toBe(3);
    }
    expect(await laidOut(hub)).toEqual(before);
  },
);
