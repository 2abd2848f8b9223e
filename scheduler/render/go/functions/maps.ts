import { checkDepth, fail, type Run, chargeSteps } from '../../run.ts';
import { goText } from '../print.ts';
import { isStringMap } from '../string-map.ts';
import {
  type Dict,
  hasKey,
  isList,
  isMap,
  isValueMap,
  lookup,
  sortedEntries,
  stringList,
  truth,
  typed,
  type Value,
  type ValueMap,
} from '../values/value.ts';
import { sameForm } from './core.ts';
import { type FunctionTable, fixed, withMustVariants, variadic } from './template-function.ts';

/**
 * sprig's map functions. All renders share the maps of the context, so `set` and `unset` modify only maps that this render
 * created (with dict, merge, pick, omit, deepCopy ...).
 */
type AnyMap = Dict | ValueMap;

/** A new map of this render. It has no prototype, so no key is special. */
const createMap = (run: Run, entries: Iterable<readonly [string, Value]>): Dict => {
  const map = Object.create(null) as Dict;
  for (const [key, value] of entries) map[key] = value;
  run.made.add(map);
  return map;
};

/** Entries with their keys as text. */
const entriesOf = (run: Run, map: AnyMap): (readonly [string, Value])[] => {
  const entries = sortedEntries(map);
  chargeSteps(run, entries.length);
  return entries.map(([key, value]) => [goText(run, key), value] as const);
};

const dict = (run: Run, ...values: readonly Value[]): Dict => {
  const entries: [string, Value][] = [];
  for (let at = 0; at < values.length; at += 2)
    entries.push([goText(run, values[at]), at + 1 < values.length ? values[at + 1] : '']);
  return createMap(run, entries);
};

const changeable = (run: Run, map: AnyMap, name: string): Dict =>
  run.made.has(map)
    ? (map as Dict)
    : fail(
        run,
        `${name} can change only a map this template made`,
        'Make a copy first: {{ $copy := deepCopy .ConfigData }}',
      );

/** A deep copy, whose maps this render may modify. */
export const copy = (run: Run, value: Value, depth = 0): Value => {
  chargeSteps(run, 1);
  checkDepth(run, depth, 'a value is');
  if (isList(value)) {
    const items = value.map((item) => copy(run, item, depth + 1));
    return sameForm(value, items);
  }
  if (!isMap(value)) return value;
  if (isValueMap(value))
    return new Map(sortedEntries(value).map(([key, item]) => [key, copy(run, item, depth + 1)] as const));
  const map = createMap(
    run,
    entriesOf(run, value).map(([key, item]) => [key, copy(run, item, depth + 1)] as const),
  );
  return isStringMap(run, value) ? typed(map, 'map[string]string') : map;
};

type Merging = { readonly overwrite: boolean; readonly allWins: boolean };

/** Merges `source` into `target`, recursively; with `overwrite` the source's values win. Always returns a new map. */
const merged = (run: Run, target: AnyMap, source: AnyMap, how: Merging, depth = 0): Dict => {
  checkDepth(run, depth, 'a value is');
  const result = createMap(run, entriesOf(run, target));
  for (const [key, value] of entriesOf(run, source)) {
    if (value === null && !how.allWins) continue;
    const own = result[key];
    if (isMap(own) && isMap(value)) result[key] = merged(run, own, value, how, depth + 1);
    // As in mergo: an empty value is replaced; with overwrite every value is, except by a map.
    else if (!truth(own) || (how.overwrite && (how.allWins || !isMap(value)))) result[key] = value;
  }
  return result;
};

const merge =
  (how: Merging) =>
  (run: Run, target: AnyMap, ...sources: readonly AnyMap[]): AnyMap => {
    const result = sources.reduce<AnyMap>((map, source) => merged(run, map, source, how), target);
    if (!run.made.has(target)) return result;
    // sprig modifies its first argument; so does this, if this render created it.
    return Object.assign(target, result);
  };

const digInto = (run: Run, ...values: readonly Value[]): Value => {
  const map = values.at(-1);
  const otherwise = values.at(-2);
  const keys = values.slice(0, -2);
  if (values.length < 3) return fail(run, 'dig takes keys, a default and a map');
  if (!isMap(map) || keys.some((key) => typeof key !== 'string'))
    return fail(run, 'dig takes keys that are strings, a default and a map');
  let found: Value = map;
  for (const key of keys) {
    if (!isMap(found)) return fail(run, 'dig reaches a value that is not a map');
    if (typeof key !== 'string' || !hasKey(found, key)) return otherwise;
    found = lookup(found, key);
  }
  return found;
};

const COPIES: FunctionTable = {
  merge: variadic(['map'], 'map', merge({ overwrite: false, allWins: false })),
  mergeOverwrite: variadic(['map'], 'map', merge({ overwrite: true, allWins: false })),
  deepCopy: fixed(['any'], (run, value) =>
    value === null ? fail(run, 'deepCopy was given nothing to copy') : copy(run, value),
  ),
};

export const MAPS: FunctionTable = {
  dict: variadic([], 'any', dict),
  get: fixed(['map', 'string'], (_run, map, key) => (hasKey(map, key) ? lookup(map, key) : '')),
  set: fixed(['map', 'string', 'any'], (run, map, key, value) => {
    changeable(run, map, 'set')[key] = value;
    return map;
  }),
  unset: fixed(['map', 'string'], (run, map, key) => {
    delete changeable(run, map, 'unset')[key];
    return map;
  }),
  hasKey: fixed(['map', 'string'], (_run, map, key) => hasKey(map, key)),
  pluck: variadic(['string'], 'map', (_run, key, ...maps) =>
    maps.filter((map) => hasKey(map, key)).map((map) => lookup(map, key)),
  ),
  // Go does not define the order of keys and values; here they are sorted, so that the same input gives the same bytes.
  keys: variadic([], 'map', (run, ...maps) =>
    stringList(maps.flatMap((map) => entriesOf(run, map).map(([key]) => key))),
  ),
  values: fixed(['map'], (run, map) => entriesOf(run, map).map(([, value]) => value)),
  pick: variadic(['map'], 'string', (run, map, ...keys) =>
    createMap(
      run,
      keys.filter((key) => hasKey(map, key)).map((key) => [key, lookup(map, key)] as const),
    ),
  ),
  omit: variadic(['map'], 'string', (run, map, ...keys) =>
    createMap(
      run,
      entriesOf(run, map).filter(([key]) => !keys.includes(key)),
    ),
  ),
  ...COPIES,
  ...withMustVariants(COPIES),
  // In sprig 3 only this function lets empty values overwrite others.
  mustMergeOverwrite: variadic(['map'], 'map', merge({ overwrite: true, allWins: true })),
  dig: variadic([], 'any', digInto),
};
