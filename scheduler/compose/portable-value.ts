import type { ConfigLayer, ConfigValue } from '../platform/model.ts';
import { WholeFloat } from '../render/go/number.ts';
import { entriesOf, isList, isMapping } from './merge.ts';

/**
 * Configuration on its way to another thread. A thread gets a structured clone, and that makes a plain mapping of a
 * WholeFloat; as an array of one double, which no configuration has, it arrives.
 */
export const portableLayers = (layers: readonly ConfigLayer[]): readonly ConfigLayer[] =>
  layers.map((layer) => ({ ...layer, values: convert(layer.values, pack) as ConfigLayer['values'] }));

/** The other end of `portableLayers`. */
export const arrivedLayers = (layers: readonly ConfigLayer[]): readonly ConfigLayer[] =>
  layers.map((layer) => ({ ...layer, values: convert(layer.values, unpack) as ConfigLayer['values'] }));

const pack = (value: unknown): unknown =>
  value instanceof WholeFloat ? new Float64Array([value.value]) : undefined;

const unpack = (value: unknown): unknown =>
  value instanceof Float64Array ? new WholeFloat(value[0] as number) : undefined;

const convert = (value: ConfigValue, one: (value: unknown) => unknown): ConfigValue => {
  const converted = one(value) as ConfigValue | undefined;
  if (converted !== undefined) return converted;
  if (isList(value)) return value.map((item) => convert(item, one));
  if (!isMapping(value)) return value;
  const entries = entriesOf(value).map(([key, item]) => [convert(key, one), convert(item, one)] as const);
  return value instanceof Map ? new Map(entries) : Object.fromEntries(entries as [string, ConfigValue][]);
};
