import type { ConfigValue } from '../platform/model.ts';
import { WholeFloat } from '../render/go/number.ts';

/** A step into a value: a mapping's key or a list's index. */
export type Path = readonly (ConfigValue | number)[];

/** Is told of every value that a merge put somewhere, so that it can be said later where a value comes from. */
export type Observe = (path: Path, value: ConfigValue) => void;

export type ConfigMapping = { readonly [key: string]: ConfigValue };
type AnyMapping = ConfigMapping | ReadonlyMap<ConfigValue, ConfigValue>;

/**
 * Lays one value over another (behaviour spec 2.4): mappings merge by key; a list's mappings merge into every mapping of
 * the same `name` (none counts as equal to none), its other items are appended; all else is replaced, null too.
 * Neither value is changed.
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
  // Only a mapping with a key that is no string has to stay a Map.
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

export const isList = (value: ConfigValue): value is readonly ConfigValue[] => Array.isArray(value);

export const isMapping = (value: ConfigValue): value is AnyMapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WholeFloat);

export const entriesOf = (mapping: AnyMapping): readonly (readonly [ConfigValue, ConfigValue])[] =>
  mapping instanceof Map
    ? [...(mapping as ReadonlyMap<ConfigValue, ConfigValue>)]
    : Object.entries(mapping as ConfigMapping);

const valueAt = (mapping: AnyMapping, key: string): ConfigValue | undefined => {
  if (mapping instanceof Map) return (mapping as ReadonlyMap<ConfigValue, ConfigValue>).get(key);
  return Object.hasOwn(mapping, key) ? (mapping as ConfigMapping)[key] : undefined;
};
