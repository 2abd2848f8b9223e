import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { readEnrolled } from '../../../scheduler/hub/sites/layers/read-enrolled.ts';
import { setValues } from '../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { ours } from '../fleet-platform.ts';
import { config, LAYERS, layeredHub, type LayeredHub, site, SITES } from '../hub/sites/layers/layered-hub.ts';
import { makeOffice, NOW } from '../release/removals/office.ts';

const PACKAGE = 'apps/labels/host/package.yaml';

/** An application that needs a line number, and takes a port. */
const needing = (port: string, more = ''): string =>
  ours(
    'HostPackage',
    'files',
    `spec:
  files: [{path: /etc/labels/line.env, format: env, content: "LINE=none\\nPORT=0\\n"}]
  siteInputs:
    - {name: lineNumber, schema: {type: integer}, file: /etc/labels/line.env, pointer: /LINE}
    - {name: port, schema: ${port}, default: 1, file: /etc/labels/line.env, pointer: /PORT}
${more}`,
  );
const INTEGER = '{type: integer, maximum: 65535}';

type Given = Parameters<typeof validatePlatform>[0]['enrolled'];

const validate = async (folder: string, enrolled?: Given) => {
  const { problems, advice, sites } = await validatePlatform({
    platform: join(folder, 'platform'),
    maps: [],
    cacheDirectory: join(folder, 'cache'),
    env: {},
    environments: ['prod'],
    ...(enrolled === undefined ? {} : { enrolled }),
  });
  const plain = (error: Parameters<typeof formatError>[0]): string =>
    formatError(error).replaceAll(`${folder}/`, '');
  return {
    problems: problems.map(plain),
    advice: advice.map(plain),
    sites: sites.map(({ kind, name, agents }) => `${kind} ${name}: ${agents.join(', ')}`),
  };
};

const validateFiles = async (files: Readonly<Record<string, string>>) => {
  const { folder } = await makeOffice({ [PACKAGE]: needing(INTEGER), ...files });
  return await validate(folder);
};

const PLANTS = [
  site('plant-1', '{labels: {region: north}, agents: [{name: edge, channel: prod/press}]}'),
  site('plant-2', '{labels: {region: south}, agents: [{name: edge, channel: prod/press}]}'),
].join('---\n');

describe('validate, from the repository alone', () => {
  test('names declared sites that no layer gives a needed value', async () => {
    expect(
      await validateFiles({
        [SITES]: PLANTS,
        [LAYERS]: config('north', 'siteSelector: {region: north}\n  values: {lineNumber: 7}'),
      }),
    ).toEqual({
      problems: [],
      advice: [
        'SITE_VALUES: plant-2/edge has no value lineNumber, which labels-host of prod/press needs. Set it in a Config, or enrol the site and give it with: fleet-scheduler sites set plant-2 lineNumber=...; labels-host is held there until then, and nothing else.',
      ],
      sites: ['missing lineNumber: plant-2/edge'],
    });
  });

  test('refuses a tie with both files, and names the sites', async () => {
    const { problems, sites } = await validateFiles({
      [SITES]: PLANTS,
      [LAYERS]: [
        config('company', 'siteSelector: {}\n  values: {lineNumber: 7}'),
        config('north', 'siteSelector: {region: north}\n  values: {port: 1}'),
      ].join('---\n'),
      'platform/base/edges.yaml': config('edges', 'siteSelector: {agent: edge}\n  values: {port: 2}'),
    });
    expect(problems).toEqual([
      'platform/base/edges.yaml:7:12: LAYER_TIE: Config edges and Config north (platform/base/layers.yaml:15:12) both set port for plant-1/edge, and both select by 1 label. Let one of them select by one label more, or remove the value from one.',
    ]);
    expect(sites).toEqual(['tie port: plant-1/edge']);
  });

  test('refuses a value of a layer that does not fit at its place, once for all sites', async () => {
    const { problems, sites } = await validateFiles({
      [SITES]: PLANTS,
      [LAYERS]: config('company', 'siteSelector: {}\n  values: {lineNumber: seven}'),
    });
    expect(problems).toEqual([
      'platform/base/layers.yaml:7:12: SITE_VALUES: the value lineNumber of plant-1/edge, plant-2/edge does not fit labels-host of prod/press: lineNumber must be integer. Correct it there; a site keeps the values that it has until then.',
    ]);
    expect(sites).toEqual(['wrong lineNumber: plant-1/edge, plant-2/edge']);
  });

  test('judges labels that layers select by, if no site is declared', async () => {
    const { problems, advice, sites } = await validateFiles({
      [LAYERS]: [
        config('north', 'siteSelector: {region: north}\n  values: {lineNumber: seven, port: 1}'),
        config('line-a', 'siteSelector: {line: a}\n  values: {port: 2}'),
        config('south', 'siteSelector: {region: south}\n  values: {prot: 3}'),
      ].join('---\n'),
    });
    expect(problems).toEqual([
      expect.stringMatching(
        /^platform\/base\/layers\.yaml:7:12: SITE_VALUES: the value lineNumber of an agent with region=north does not/,
      ),
    ]);
    expect(advice).toEqual([
      expect.stringContaining('both set port for an agent with line=a and region=north'),
      expect.stringMatching(
        /^platform\/base\/layers\.yaml:23:12: REFERENCE_MISSING: Config south gives sites the value prot, which no application of prod takes there/,
      ),
    ]);
    expect(sites).toHaveLength(2);
  });

  test('advises of a layer that selects labels no declared site has', async () => {
    const { problems, advice } = await validateFiles({
      [SITES]: PLANTS,
      [LAYERS]: [
        config('company', 'siteSelector: {}\n  values: {lineNumber: 7}'),
        config('north', 'siteSelector: {region: nroth}\n  values: {port: 1}'),
      ].join('---\n'),
    });
    expect(problems).toEqual([]);
    expect(advice).toEqual([
      'platform/base/layers.yaml:9:1: REFERENCE_MISSING: Config north selects region=nroth, which no declared site of prod has. Did you mean north? Its values reach no site.',
    ]);
  });
});

describe('validate, with the sites of a hub', () => {
  const office = async (files: Readonly<Record<string, string>> = {}): Promise<LayeredHub> => {
    const hub = await layeredHub({ [PACKAGE]: needing(INTEGER), ...files });
    await hub.enrol('plant-1/edge', { region: 'north' });
    await hub.enrol('plant-2/edge', { region: 'south' });
    return hub;
  };
  const give = async (hub: LayeredHub, name: string, set: Record<string, string | number>) =>
    setValues(hub.store, { site: name, set, unset: [] }, await siteSigner(hub), NOW);

  test('counts values that people gave, and names those that nothing takes any more', async () => {
    const hub = await office();
    await give(hub, 'plant-1', { lineNumber: 7, oldPort: 3 });
    const { problems, advice, sites } = await validate(hub.folder, await readEnrolled(hub));
    expect(problems).toEqual([]);
    expect(advice).toEqual([
      'SITE_VALUES: no application of prod/press takes the value oldPort, which people gave plant-1/edge. Remove it with: fleet-scheduler sites set plant-1 --unset oldPort, or let an application ask for it under siteInputs.',
      expect.stringMatching(
        /^SITE_VALUES: plant-2\/edge has no value lineNumber, which labels-host of prod\/press needs/,
      ),
    ]);
    expect(sites).toEqual(['untaken oldPort: plant-1/edge', 'missing lineNumber: plant-2/edge']);
  });

  test('names old and new type of a schema that changed under values, and the sites, before a release', async () => {
    const hub = await office();
    await give(hub, 'plant-1', { lineNumber: 7, port: 8080 });
    await give(hub, 'plant-2', { lineNumber: 8 });
    await hub.edit(PACKAGE, () => needing('{type: string}').replace('default: 1', 'default: a'));
    const { problems, advice } = await validate(hub.folder, await readEnrolled(hub));
    expect(problems).toEqual([]);
    expect(advice).toEqual([
      'SITE_VALUES: the value port of plant-1/edge does not fit labels-host of prod/press: port must be string; its type was integer in the last release, and is string now. Correct it with: fleet-scheduler sites set plant-1 port=...; labels-host is held there until then, and nothing else.',
    ]);
  });

  test('a build names every site at which a field is gone after the upgrade of the application', async () => {
    const hub = await office();
    await hub.edit(PACKAGE, (text) => text.replace('PORT=0', 'PORTS=0'));
    const { channels, advice } = await hub.build({
      now: new Date(NOW.getTime() + 60_000),
      environments: ['prod'],
      judgeSites: { enrolled: await readEnrolled(hub) },
    });
    expect(channels.flatMap(({ held }) => held.map(({ code }) => code))).toEqual(['REFERENCE_MISSING']);
    expect(advice.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      expect.stringMatching(
        /^REFERENCE_MISSING: plant-1\/edge, plant-2\/edge keep the present package of labels-host of prod\/press: site input port goes to "\/PORT"/,
      ),
    ]);
  });

  test('a build has the same advice, before it signs, and releases for the other sites', async () => {
    const hub = await office();
    await give(hub, 'plant-1', { lineNumber: 7, port: 8080 });
    await give(hub, 'plant-2', { lineNumber: 8 });
    await hub.edit(PACKAGE, () => needing('{type: string}').replace('default: 1', 'default: a'));
    const { channels, advice } = await hub.build({
      now: new Date(NOW.getTime() + 60_000),
      environments: ['prod'],
      judgeSites: { enrolled: await readEnrolled(hub) },
    });
    expect(channels.find(({ clusterType }) => clusterType === 'press')).toMatchObject({
      outcome: 'released',
      held: [],
    });
    expect(advice.map(({ message }) => message)).toEqual([
      'the value port of plant-1/edge does not fit labels-host of prod/press: port must be string; its type was integer in the last release, and is string now',
    ]);
  });
});
