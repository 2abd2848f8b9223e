import type { Run } from '../run.ts';
import { Opaque } from './values/opaque.ts';
import { isStringMap } from './string-map.ts';
import { formOf, kindOf, type Value } from './values/value.ts';

const GO_TYPES: Readonly<Record<ReturnType<typeof kindOf>, string>> = {
  invalid: '<nil>',
  bool: 'bool',
  string: 'string',
  int: 'int',
  int64: 'int64',
  uint8: 'uint8',
  uint64: 'uint64',
  ptr: 'ptr',
  float64: 'float64',
  slice: '[]interface {}',
  map: 'map[string]interface {}',
  struct: 'struct',
};

/** The name of a value's Go type, as %T prints it. */
export const typeName = (run: Run, value: Value): string => {
  if (typeof value !== 'object' || value === null) return GO_TYPES[kindOf(value)];
  if (value instanceof Opaque) return value.type;
  if (value instanceof Map) return 'map[interface {}]interface {}';
  return isStringMap(run, value) ? 'map[string]string' : (formOf(value)?.type ?? GO_TYPES[kindOf(value)]);
};
