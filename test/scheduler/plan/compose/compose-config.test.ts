import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { composeLayers, createComposer } from '../../../../scheduler/plan/compose/compose-config.ts';
import { matchSelector } from '../../../../scheduler/plan/compose/match-selector.ts';
import { clusterType, layer, schema, target } from '../../model-objects.ts';
import { runs } from '../../../harness/run/long.ts';

test('the last matching layer wins, key by key', () => {
  const compose = createComposer({
    configs: [
      layer('c00', { values: { url: 'all', keep: 1 } }),
      layer('c10', { selector: { region: 'eu' }, values: { url: 'eu' } }),
      layer('c20', { selector: { region: 'us' }, values: { url: 'us' } }),
    ],
    schemas: [],
  });
  const composition = compose(clusterType('edge', { labels: { region: 'eu' } }), target('shop/web'));
  expect(composition.values).toEqual({ url: 'eu', keep: 1 });
  expect(composition.layers.map(({ name }) => name)).toEqual(['c00', 'c10']);
});

test('pairs matched by the same layers share one composition', () => {
  const compose = createComposer({
    configs: [
      layer('all', { values: { a: 1 } }),
      layer('shop', { selector: { workload: 'shop' }, values: { a: 2 } }),
    ],
    schemas: [schema('s', true, { workload: 'shop' })],
  });
  const types = [clusterType('a'), clusterType('b')] as const;
  expect(compose(types[0], target('x/web'))).toBe(compose(types[1], target('y/web')));
  expect(compose(types[0], target('shop/web'))).toBe(compose(types[1], target('shop/api')));
  expect(compose(types[0], target('shop/web')).schemas.map(({ name }) => name)).toEqual(['s']);
  expect(compose(types[0], target('x/web')).schemas).toEqual([]);
});

test('numbers that JSON cannot represent are plain in `plain` and exact in `values`', () => {
  const values = { big: 12345678901234567890n, map: new Map([[true, 1]]) };
  const compose = createComposer({ configs: [layer('x', { values })], schemas: [] });
  const composition = compose(clusterType('a'), target('x/web'));
  expect(composition.values).toEqual(values);
  expect(composition.plain).toEqual({ big: '12345678901234567890', map: { true: 1 } });
});

test('the composer selects the same layers as matchSelector', () => {
  const word = fc.constantFrom('eu', 'us', '');
  const labels = fc.dictionary(fc.constantFrom('region', 'tier'), word);
  const selector = fc.dictionary(
    fc.constantFrom('region', 'tier', 'workload', 'cluster-type'),
    fc.constantFrom('eu', 'us', '', 'shop', 'edge'),
  );
  fc.assert(
    fc.property(
      fc.array(selector, { maxLength: 6 }),
      fc.array(labels),
      fc.array(labels),
      (selectors, types, targets) => {
        const configs = selectors.map((one, at) =>
          layer(`c${at}`, { selector: one, values: { [`k${at}`]: at } }),
        );
        const compose = createComposer({ configs, schemas: [] });
        for (const type of types.map((one) => clusterType('edge', { labels: one }))) {
          for (const one of targets.map((own) => target('shop/web', { labels: own }))) {
            const expected = configs.filter((config) => matchSelector(config.selector, type, one));
            expect(compose(type, one).layers).toEqual(expected);
            expect(compose(type, one).values).toEqual(composeLayers(expected));
          }
        }
      },
    ),
    { numRuns: runs(50) },
  );
});
