import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveInputs } from '../../../../bundles/formats/site-values/resolve-inputs.ts';
import { valuesOfAgent } from '../../../../bundles/formats/author-schema/judge-site-values.ts';
import type { BundleConfig } from '../../../../bundles/formats/bundle/config.ts';
import { formatError } from '../../../../bundles/errors.ts';
import type { SiteValues } from '../../../../bundles/formats/statements/predicates.ts';
import type { Labels, SiteLayer } from '../../../../scheduler/model/model.ts';
import {
  createSiteComposer,
  labelsForLayers,
  type Taker,
  tieError,
} from '../../../../scheduler/plan/compose/compose-site.ts';
import {
  byTheRules,
  inOrder,
  KEYS,
  labels,
  layer,
  randomLayers,
  taker,
  TYPE,
  values,
} from './random-layers.ts';

const agent = (labels: Labels, site = 'plant-7', name = 'edge-1') => ({ site, agent: name, labels });

const compose = (layers: readonly SiteLayer[], takers: readonly Taker[] = [taker('hmi-line', {})]) =>
  createSiteComposer(inOrder(layers), TYPE, takers);

test('more labels override fewer, at any number of levels, and the environment overrides the base', () => {
  const layers = [
    layer('company', {}, { host: 'c', port: 1, zone: { a: 1, b: 1 } }),
    layer('region', { region: 'north' }, { host: 'r', zone: { b: 2 } }),
    layer('site', { region: 'north', site: 'plant-7' }, { host: 's' }),
    layer('line', { region: 'north', site: 'plant-7', line: 'a' }, { host: 'l' }),
    layer('other', { region: 'south' }, { host: 'x' }),
    layer('prod', {}, { port: 2 }, { from: 'environment' }),
  ];
  const of = (labels: Labels, site?: string) => compose(layers)(agent(labels, site)).document?.values;
  expect(of({ region: 'north', line: 'a' })).toEqual({ host: 'l', port: 2, zone: { a: 1, b: 2 } });
  expect(of({ region: 'north', line: 'b' })).toEqual({ host: 's', port: 2, zone: { a: 1, b: 2 } });
  expect(of({ region: 'north' }, 'plant-8')).toEqual({ host: 'r', port: 2, zone: { a: 1, b: 2 } });
  expect(of({}, 'plant-9')).toEqual({ host: 'c', port: 2, zone: { a: 1, b: 1 } });
});

test('every value names its layer, place and what it overrides', () => {
  const { whole } = compose([
    layer('company', {}, { host: 'c' }),
    layer('region', { region: 'north' }, { port: 1, host: 'r' }),
  ])(agent({ region: 'north' }));
  expect(
    whole.origins.map(({ path, layer: { name, siteSelector }, at, overrode }) => [
      path.join('.'),
      name,
      siteSelector,
      `${at.file}:${at.line}:${at.column}`,
      overrode.map((one) => [one.layer.name, one.value]),
    ]),
  ).toEqual([
    ['host', 'region', { region: 'north' }, 'base/region.yaml:11:5', [['company', 'c']]],
    ['port', 'region', { region: 'north' }, 'base/region.yaml:10:5', []],
  ]);
});

test('labels of the cluster type and of the deployment target narrow a layer, and count', () => {
  const layers = [
    layer('north', { region: 'north' }, { host: 'r', port: 1 }),
    layer('north-hosts', { region: 'north' }, { host: 'h' }, { selector: { kind: 'host' } }),
    layer('north-clusters', { region: 'north' }, { host: 'k' }, { selector: { kind: 'cluster' } }),
    layer('north-hmi', { region: 'north' }, { host: 'i' }, { selector: { app: 'hmi', kind: 'host' } }),
    layer('north-mes', { region: 'north' }, { port: 2 }, { selector: { workload: 'mes' } }),
  ];
  const takers = [taker('hmi-line', { app: 'hmi' }), taker('mes-line', {}), taker('log-line', {}, ['port'])];
  expect(compose(layers, takers)(agent({ region: 'north' })).document).toEqual({
    values: { host: 'h', port: 1 },
    assignments: { 'hmi-line': { host: 'i' }, 'mes-line': { port: 2 } },
  });
});

test('a name that no assignment takes is in no document', () => {
  const composed = compose(
    [layer('all', {}, { host: 'c', unused: 1 })],
    [taker('hmi-line', {}, ['host'])],
  )(agent({}));
  expect(composed.document).toEqual({ values: { host: 'c' } });
  expect(compose([layer('all', {}, { unused: 1 })], [taker('a-b', {}, ['host'])])(agent({})).document).toBe(
    undefined,
  );
});

test('a layer with fixed overrides what people set, others do not', () => {
  const { document } = compose([
    layer('all', {}, { host: 'c', port: 1 }),
    layer('safety', {}, { limit: 5, port: 2 }, { fixed: true }),
  ])(agent({}));
  expect(document).toEqual({ values: { host: 'c', port: 1 }, fixed: { values: { limit: 5, port: 2 } } });
  const values: SiteValues = {
    fleet: 'f',
    site: 'plant-7',
    values: { host: 'p', port: 3, limit: 9 },
    agents: { 'edge-1': { limit: 10 } },
    composed: { 'edge-1': document ?? { values: {} } },
  };
  expect(valuesOfAgent(values, 'edge-1')).toEqual({ host: 'p', port: 2, limit: 5 });
  expect(valuesOfAgent(values, 'edge-2')).toEqual({ host: 'p', port: 3, limit: 9 });
});

test('the labels of the enrolment override those that the repository declares', () => {
  const declared = {
    name: 'plant-7',
    labels: { region: 'north', country: 'no' },
    path: 'base/sites.yaml',
    agents: [],
    at: { file: 'base/sites.yaml' },
  };
  expect(labelsForLayers(declared, { region: 'south', line: 'a' })).toEqual({
    region: 'south',
    country: 'no',
    line: 'a',
  });
  expect(labelsForLayers(undefined, { line: 'a' })).toEqual({ line: 'a' });
});

test('two layers with equally many labels that set one value otherwise tie, and the error names both files', () => {
  const layers = [
    layer('line-a', { line: 'a' }, { host: 'l', zone: { x: 1 } }),
    layer('north', { region: 'north' }, { host: 'r', zone: { y: 1 } }),
  ];
  const both = compose(layers)(agent({ region: 'north', line: 'a' }));
  expect(both.whole.ties.map((tie) => formatError(tieError(tie, 'plant-7/edge-1')))).toEqual([
    'base/line-a.yaml:10:5: LAYER_TIE: Config line-a and Config north (base/north.yaml:10:5) both set host for plant-7/edge-1, and both select by 1 label. Let one of them select by one label more, or remove the value from one.',
  ]);
  expect(compose(layers)(agent({ region: 'north' })).whole.ties).toEqual([]);
});

test.each([
  ['equal values', { host: 'a', list: [1] }, { host: 'a', list: [1] }, undefined, 0],
  ['different keys', { host: 'a' }, { port: 1 }, undefined, 0],
  ['lists, whose order would decide', { list: [1] }, { list: [2] }, undefined, 1],
  ['a mapping beside a scalar', { host: { a: 1 } }, { host: 'a' }, undefined, 1],
  ['a value that a layer with more labels replaces', { host: 'a' }, { host: 'b' }, { host: 'c' }, 0],
  ['a value that such a layer leaves', { host: 'a' }, { host: 'b' }, { port: 1 }, 1],
  ['a list that such a layer appends to', { list: [1] }, { list: [2] }, { list: [3] }, 1],
  ['a list that such a layer replaces', { list: [1] }, { list: [2] }, { list: 'none' }, 0],
  ['a mapping that such a layer replaces', { m: { a: 1 } }, { m: { a: 2 } }, { m: 1 }, 0],
  ['a key inside that such a layer sets', { m: { a: 1 } }, { m: { a: 2 } }, { m: { a: 3 } }, 0],
] as const)('ties: %s', (_, first, second, above, ties) => {
  const layers = [
    layer('a', { region: 'north' }, first),
    layer('b', { line: 'a' }, second),
    ...(above ? [layer('c', { region: 'north', line: 'a' }, above)] : []),
  ];
  expect(compose(layers)(agent({ region: 'north', line: 'a' })).whole.ties).toHaveLength(ties);
});

test('two layers do not tie about a value that nothing takes', () => {
  const takers = [taker('hmi-line', {}, ['port'])];
  const layers = [layer('a', { line: 'a' }, { host: 1 }), layer('b', { region: 'n' }, { host: 2 })];
  expect(compose(layers, takers)(agent({ line: 'a', region: 'n' })).whole.ties).toEqual([]);
});

test('composeSite follows the rules for 1,000 random sets of layers', async () => {
  const takers = [taker('a-line', { app: 'a' }), taker('b-line', {}), taker('c-line', {})];
  const field = (assignment: string, input: string) => ({
    input,
    assignment,
    file: '/f',
    pointer: `/${input}`,
  });
  const config = {
    assignments: takers.map(({ target }) => ({ id: target.name })),
    siteInputs: {
      schema: { type: 'object', properties: Object.fromEntries(KEYS.map((key) => [key, {}])) },
      fields: takers.flatMap(({ target }) => KEYS.map((key) => field(target.name, key))),
    },
  } as unknown as BundleConfig;
  let composedSome = 0;
  await fc.assert(
    fc.asyncProperty(randomLayers, labels, values, async (random, own, people) => {
      const layers = inOrder(
        random.map((one, index) => layer(`l${index}`, one.siteSelector, one.values, one)),
      );
      const { document } = createSiteComposer(layers, TYPE, takers)(agent(own));
      if (document?.assignments) composedSome += 1;
      const written: SiteValues = {
        fleet: 'f',
        site: 'plant-7',
        values: people,
        agents: { 'edge-1': { k3: 'own' } },
        ...(document && { composed: { 'edge-1': document } }),
      };
      const read = JSON.parse(JSON.stringify(written)) as SiteValues;
      const all = await resolveInputs(config, read, 'edge-1');
      for (const { target } of takers) {
        const wanted = byTheRules(layers, { labels: own, target }, [people, { k3: 'own' }]);
        const taken = await resolveInputs(config, read, 'edge-1', target.name);
        const toObject = (found: typeof taken) =>
          Object.fromEntries(found.map(({ input, value }) => [input, value]));
        expect(toObject(taken)).toEqual(wanted);
        expect(toObject(all.filter(({ assignment }) => assignment === target.name))).toEqual(wanted);
      }
    }),
    { numRuns: 1000 },
  );
  expect(composedSome).toBeGreaterThan(20);
});
