import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { composeLayers } from '../../../../scheduler/plan/compose/compose-config.ts';
import { explainConfig, originOf } from '../../../../scheduler/plan/compose/explain-config.ts';
import type { ConfigValue } from '../../../../scheduler/model/model.ts';
import { layer } from '../../model-objects.ts';

test('every value has its layer and position, and the values that it overrode, latest first', () => {
  const origins = explainConfig([
    layer('base', { values: { url: 'a', db: { size: 1, host: 'x' } } }),
    layer('eu', { values: { url: 'b', db: { size: 2 } } }),
    layer('prod', { values: { url: 'c' } }),
  ]);
  expect(
    origins.map(({ path, layer: { name }, at, value, overrode }) => [
      path.join('.'),
      value,
      name,
      at.line,
      overrode.map((say) => `${say.layer.name}=${JSON.stringify(say.value)}`),
    ]),
  ).toEqual([
    ['db.host', 'x', 'base', 11, []],
    ['db.size', 2, 'eu', 11, ['base=1']],
    ['url', 'c', 'prod', 10, ['eu="b"', 'base="a"']],
  ]);
});

test('a list is explained item by item, and a clash of types lists every value that is lost', () => {
  const origins = explainConfig([
    layer('a', { values: { list: [{ name: 'x', v: 1 }], other: { p: 1, q: 2 } } }),
    layer('b', { values: { list: [{ name: 'x', v: 2 }, 'more'], other: 'scalar' } }),
  ]);
  expect(origins.map(({ path, value, layer: { name } }) => [path.join('.'), value, name])).toEqual([
    ['list.0.name', 'x', 'b'],
    ['list.0.v', 2, 'b'],
    ['list.1', 'more', 'b'],
    ['other', 'scalar', 'b'],
  ]);
  expect(originOf(origins, ['other'])?.overrode.map(({ value }) => value)).toEqual([1, 2]);
  expect(originOf(origins, ['list', '0', 'v', 'deeper'])?.value).toBe(2);
  expect(originOf(origins, ['list'])?.layer.name).toBe('b');
  expect(originOf(origins, ['none'])).toBeUndefined();
});

test('the explained values equal the composed ones', () => {
  const scalar = fc.oneof(fc.integer(), fc.constantFrom('x', null, true));
  const { map } = fc.letrec<{ value: ConfigValue; map: Record<string, ConfigValue> }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, scalar, tie('map'), fc.array(tie('value'), { maxLength: 3 })),
    map: fc.dictionary(fc.constantFrom('a', 'b', 'name'), tie('value'), { maxKeys: 3 }),
  }));
  fc.assert(
    fc.property(fc.array(map, { maxLength: 4 }), (all) => {
      const layers = all.map((values, at) => layer(`l${at}`, { values }));
      const told = explainConfig(layers).map(({ path, value }) => [path.join('/'), value]);
      expect(Object.fromEntries(told)).toEqual(Object.fromEntries(leaves(composeLayers(layers), [])));
    }),
  );
});

const leaves = (value: ConfigValue, path: readonly string[]): [string, ConfigValue][] => {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (inner.length === 0) return path.length === 0 ? [] : [[path.join('/'), value]];
  return inner.flatMap(([key, item]) => leaves(item as ConfigValue, [...path, key]));
};
