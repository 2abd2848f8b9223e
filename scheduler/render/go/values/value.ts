import { compareBytes } from '#bundles/digest';
import { GoContext } from './go-context.ts';
import {
  type Float,
  type Int,
  type IntType,
  isFloat,
  isInt,
  isUint64,
  SizedInt,
  toNumber,
  WholeFloat,
} from '../../../model/go/number.ts';
import { Opaque } from './opaque.ts';

export type Dict = { [key: string]: Value };
export type ValueMap = ReadonlyMap<Value, Value>;
/**
 * A value in a running template. `undefined` is Go's invalid value (a missing map key, printed as `<no value>`); `null` is
 * an actual nil (a YAML null).
 */
export type Value =
  | undefined
  | null
  | boolean
  | string
  | Int
  | Float
  | readonly Value[]
  | ValueMap
  | GoContext
  | Opaque
  | Dict;

/** Go's reflect.Kind. */
export type Kind =
  | 'invalid'
  | 'bool'
  | 'string'
  | 'int'
  | IntType
  | 'uint64'
  | 'float64'
  | 'slice'
  | 'struct'
  | 'ptr'
  | 'map';

export const kindOf = (value: Value): Kind => {
  if (value === undefined || value === null) return 'invalid';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return isUint64(value) ? 'uint64' : 'int';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int' : 'float64';
  if (Array.isArray(value)) return 'slice';
  if (value instanceof WholeFloat) return 'float64';
  if (value instanceof SizedInt) return value.type;
  if (value instanceof Opaque) return value.kind;
  return value instanceof GoContext ? 'struct' : 'map';
};

type Form = { readonly type: string; readonly nil: boolean };

const forms = new WeakMap<object, Form>();

/** Records the Go type of a list or map if it is not the usual one, or that it is a nil of that type. */
export const typed = <T extends object>(value: T, type: string, nil = false): T => {
  forms.set(value, { type, nil });
  return value;
};

export const formOf = (value: object): Form | undefined => forms.get(value);

/** The result of Go functions that return `[]string`. */
export const stringList = (items: string[], nil = false): string[] => typed(items, '[]string', nil);

/** Go's nil list: null in JSON. */
export const nilList = (): Value[] => typed([], '[]interface {}', true);

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  invalid: 'nothing',
  bool: 'a boolean',
  string: 'a string',
  int: 'an integer',
  int64: 'an integer',
  uint8: 'an integer',
  uint64: 'an integer',
  ptr: 'an object',
  float64: 'a float',
  slice: 'a list',
  struct: 'an object',
  map: 'a map',
};

/** Describes a value in an error message. */
export const describeValue = (value: Value): string => {
  if (typeof value === 'boolean') return `the boolean ${String(value)}`;
  if (value instanceof GoContext) return 'the context itself';
  return isInt(value) ? `the integer ${String(value)}` : KIND_NAMES[kindOf(value)];
};

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isMap = (value: Value): value is Dict | ValueMap => kindOf(value) === 'map';

export const isValueMap = (value: Dict | ValueMap): value is ValueMap => value instanceof Map;

/** The value at a string key, undefined without one. Reads own properties only, never the prototype's. */
export const lookup = (map: Dict | ValueMap, key: string): Value => {
  if (isValueMap(map)) return map.get(key);
  return Object.hasOwn(map, key) ? map[key] : undefined;
};

export const hasKey = (map: Dict | ValueMap, key: string): boolean =>
  isValueMap(map) ? map.has(key) : Object.hasOwn(map, key);

/** The value at any key. A WholeFloat is an object, so it is compared by value. */
export const lookupAny = (map: Dict | ValueMap, key: Value): Value => {
  if (typeof key === 'string') return lookup(map, key);
  if (!isValueMap(map)) return undefined;
  if (!(key instanceof WholeFloat)) return map.get(key);
  return [...map].find(([own]) => own instanceof WholeFloat && own.value === key.value)?.[1];
};

export const sizeOf = (map: Dict | ValueMap): number =>
  isValueMap(map) ? map.size : Object.keys(map).length;

const SURROGATE = /[\ud800-\udfff]/;

/** Strings in byte order. UTF-16 order is equal and much faster, except for surrogates. */
export const byBytes = (a: string, b: string): number => {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return compareBytes(a, b);
  if (a === b) return 0;
  return a < b ? -1 : 1;
};

const keyRank = (key: Value): number => ['invalid', 'bool', 'int', 'float64', 'string'].indexOf(kindOf(key));

/** Keys of one kind by value, kinds in a fixed order (fmt sorts mixed keys by type, in an unspecified order). */
const byKey = (a: Value, b: Value): number => {
  const rank = keyRank(a) - keyRank(b);
  if (rank !== 0) return rank;
  if (typeof a === 'string' && typeof b === 'string') return byBytes(a, b);
  if (typeof a === 'boolean' || a === null || a === undefined) return Number(a) - Number(b);
  const [x, y] = [a, b].map((key) => (isInt(key) || isFloat(key) ? toNumber(key) : 0));
  return (x ?? 0) - (y ?? 0);
};

/** The keys of a map in the order in which Go ranges over it and prints it. */
const sortedKeys = (map: Dict): string[] => {
  const keys = Object.keys(map);
  return keys.length < 2 ? keys : keys.sort(byBytes);
};

export const sortedEntries = (map: Dict | ValueMap): (readonly [Value, Value])[] =>
  isValueMap(map)
    ? [...map].toSorted(([a], [b]) => byKey(a, b))
    : sortedKeys(map).map((key) => [key, map[key]] as const);

/** Go's truth: the zero value of a type and an empty list, map or string are false. */
export const truth = (value: Value): boolean => {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  // NaN is not zero, so Go treats it as true.
  if (typeof value === 'number' || typeof value === 'bigint') return value !== 0 && value !== 0n;
  if (typeof value === 'string' || isList(value)) return value.length > 0;
  if (value instanceof WholeFloat) return value.value !== 0;
  if (value instanceof SizedInt) return toNumber(value) !== 0;
  return value instanceof GoContext || value instanceof Opaque || sizeOf(value) > 0;
};
