import { compareBytes } from '../../../../bundles/digest.ts';
import type { ConfigValue } from '../../../../scheduler/model/model.ts';
import { formatFloat, WholeFloat } from '../../../../scheduler/model/go/number.ts';

/** A value with its Go type, as main.go writes it. */
export type Tagged =
  | string
  | boolean
  | null
  | { readonly int: string }
  | { readonly float: string }
  | { readonly map: readonly (readonly [Tagged, Tagged])[] }
  | readonly Tagged[];

export const tagged = (value: ConfigValue): Tagged => {
  if (value instanceof WholeFloat) return { float: formatFloat(value.value) };
  if (typeof value === 'bigint') return { int: String(value) };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { int: String(value) } : { float: formatFloat(value) };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: ConfigValue) => tagged(item));
  const entries: readonly (readonly [ConfigValue, ConfigValue])[] =
    value instanceof Map ? [...(value as ReadonlyMap<ConfigValue, ConfigValue>)] : Object.entries(value);
  return {
    map: entries
      .map(([key, item]) => [tagged(key), tagged(item)] as const)
      .toSorted(([a], [b]) => compareBytes(JSON.stringify(a), JSON.stringify(b))),
  };
};
