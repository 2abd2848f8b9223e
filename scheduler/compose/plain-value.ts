import type { ConfigValue, Value } from '../platform/model.ts';
import { WholeFloat } from '../render/go/number.ts';
import { entriesOf, isList, isMapping } from './merge.ts';

/** A value as JSON has it: keys are text, `5.0` is 5, and an integer that a double would round keeps its digits as text. */
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

/** The key JSON would have for it. */
export const keyText = (key: ConfigValue | number): string => {
  if (key instanceof WholeFloat) return String(key.value);
  return typeof key === 'object' ? JSON.stringify(plainValue(key)) : String(key);
};
