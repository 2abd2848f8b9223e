import { isRecord } from '#bundles/is-record';
import type { ConfigValue, Value } from './model.ts';
import { WholeFloat } from './go/number.ts';

export type ConfigMapping = { readonly [key: string]: ConfigValue };
export type AnyMapping = ConfigMapping | ReadonlyMap<ConfigValue, ConfigValue>;

export const isList = (value: ConfigValue): value is readonly ConfigValue[] => Array.isArray(value);

export const isMapping = (value: ConfigValue): value is AnyMapping =>
  isRecord(value) && !(value instanceof WholeFloat);

export const entriesOf = (mapping: AnyMapping): readonly (readonly [ConfigValue, ConfigValue])[] =>
  mapping instanceof Map
    ? [...(mapping as ReadonlyMap<ConfigValue, ConfigValue>)]
    : Object.entries(mapping as ConfigMapping);

/** Converts to a JSON value: keys become text, `5.0` becomes 5, and a bigint becomes text unless `ofBigint` converts it. */
export const plainValue = (value: ConfigValue, ofBigint: (value: bigint) => Value = String): Value => {
  if (isList(value)) return value.map((item) => plainValue(item, ofBigint));
  if (isMapping(value))
    return Object.fromEntries(
      entriesOf(value).map(([key, item]) => [keyText(key), plainValue(item, ofBigint)]),
    );
  if (value instanceof WholeFloat) return value.value;
  if (typeof value === 'bigint') return ofBigint(value);
  return value;
};

/** The key as it appears in JSON. */
export const keyText = (key: ConfigValue | number): string => {
  if (key instanceof WholeFloat) return String(key.value);
  return typeof key === 'object' ? JSON.stringify(plainValue(key)) : String(key);
};
