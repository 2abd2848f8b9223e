import { SizedInt, toNumber, WholeFloat } from '../../model/go/number.ts';
import { isList, type Value } from '../go/values/value.ts';

/** Handlebars' truth: empty lists are false, empty maps are not. */
export const isTrue = (value: Value): boolean => {
  if (isList(value)) return value.length > 0;
  return value instanceof WholeFloat || value instanceof SizedInt ? toNumber(value) !== 0 : Boolean(value);
};

export const isZero = (value: Value): boolean =>
  value === 0 ||
  value === 0n ||
  ((value instanceof WholeFloat || value instanceof SizedInt) && toNumber(value) === 0);
