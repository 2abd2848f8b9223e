import type { ConfigValue } from '../../model/model.ts';
import {
  type AnyMapping,
  type ConfigMapping,
  entriesOf,
  isList,
  isMapping,
} from '../../model/plain-value.ts';
import { WholeFloat } from '../../model/go/number.ts';

/** Steps into a value: keys of mappings and indexes of lists. */
export type Path = readonly (ConfigValue | number)[];

/** Called with every value that a merge sets, to record its origin. */
export type Observe = (path: Path, value: ConfigValue) => void;

/**
 * Merges `over` into `under` (behaviour spec 2.4): mappings by key; a mapping in a list into every mapping with the same
 * `name` (two without a name are equal), other items are appended; anything else is replaced, also by null. Modifies neither
 * value.
 */
export const merge = (
  under: ConfigValue,
  over: ConfigValue,
  observe?: Observe,
  path: Path = [],
): ConfigValue => {
  if (isMapping(under) && isMapping(over)) return mergeMappings(under, over, observe, path);
  if (isList(under) && isList(over)) return mergeLists(under, over, observe, path);
  observe?.(path, over);
  return over;
};

const mergeMappings = (
  under: AnyMapping,
  over: AnyMapping,
  observe: Observe | undefined,
  path: Path,
): AnyMapping => {
  const merged = new Map<ConfigValue, ConfigValue>(entriesOf(under));
  for (const [key, value] of entriesOf(over)) {
    const inside = observe ? [...path, key] : path;
    const existing = merged.get(key);
    if (existing === undefined) {
      observe?.(inside, value);
      merged.set(key, value);
    } else merged.set(key, merge(existing, value, observe, inside));
  }
  // The result stays a Map only if a key is not a string.
  if (under instanceof Map || over instanceof Map) return merged;
  return Object.fromEntries(merged as ReadonlyMap<string, ConfigValue>);
};

const mergeLists = (
  under: readonly ConfigValue[],
  over: readonly ConfigValue[],
  observe: Observe | undefined,
  path: Path,
): readonly ConfigValue[] => {
  const merged = [...under];
  for (const item of over) {
    const namesakes = isMapping(item)
      ? [...merged.keys()].filter((at) => isNamesake(merged[at] as ConfigValue, item))
      : [];
    for (const at of namesakes)
      merged[at] = merge(merged[at] as ConfigValue, item, observe, observe ? [...path, at] : path);
    if (namesakes.length === 0) {
      observe?.([...path, merged.length], item);
      merged.push(item);
    }
  }
  return merged;
};

const isNamesake = (existing: ConfigValue, item: AnyMapping): boolean =>
  isMapping(existing) && sameScalar(valueAt(existing, 'name'), valueAt(item, 'name'));

const sameScalar = (a: ConfigValue | undefined, b: ConfigValue | undefined): boolean =>
  a instanceof WholeFloat && b instanceof WholeFloat ? a.value === b.value : a === b;

const valueAt = (mapping: AnyMapping, key: string): ConfigValue | undefined => {
  if (mapping instanceof Map) return (mapping as ReadonlyMap<ConfigValue, ConfigValue>).get(key);
  return Object.hasOwn(mapping, key) ? (mapping as ConfigMapping)[key] : undefined;
};
