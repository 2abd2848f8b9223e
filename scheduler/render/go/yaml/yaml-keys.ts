import {
  type Float,
  type Int,
  isFloat,
  isInt,
  SizedInt,
  toNumber,
  WholeFloat,
} from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { codePoints } from '../../../model/go/utf8.ts';
import { byBytes, type Dict, isValueMap, kindOf, type Value, type ValueMap } from '../values/value.ts';

const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/u;

const isLetter = (character: string): boolean =>
  character < '\x80' ? /[A-Za-z]/.test(character) : LETTER.test(character);

const isDigit = (character: string): boolean =>
  character < '\x80' ? character >= '0' && character <= '9' : DIGIT.test(character);

/** Reads the number at `at`; returns its value and its end. */
const digitsFrom = (text: readonly string[], at: number, start: number): readonly [number, number] => {
  let value = start;
  let end = at;
  for (let digit = text[end]; digit !== undefined && isDigit(digit); digit = text[end]) {
    value = value * 10 + ((digit.codePointAt(0) ?? 0) - 48);
    end += 1;
  }
  return [value, end];
};

/** Whether the digits before `at` are a number above zero: then zeros that follow are significant. */
const followsNumber = (text: readonly string[], at: number): boolean => {
  for (let before = at - 1; before >= 0; before -= 1) {
    const digit = text[before] ?? '';
    if (!isDigit(digit)) return false;
    if (digit !== '0') return true;
  }
  return false;
};

/** yaml.v3's order of keys: natural, so a9 comes before a10, and letters after everything else. */
const compareNatural = (left: string, right: string): number => {
  if (left === right) return 0;
  const a = codePoints(left);
  const b = codePoints(right);
  let digits = false;
  for (let at = 0; at < a.length && at < b.length; at += 1) {
    const x = a[at] ?? '';
    const y = b[at] ?? '';
    if (x === y) {
      digits = isDigit(x);
      continue;
    }
    const xLetter = isLetter(x);
    const yLetter = isLetter(y);
    if (xLetter && yLetter) return byBytes(x, y);
    if (xLetter || yLetter) return (digits ? xLetter : yLetter) ? -1 : 1;
    const start = (x === '0' || y === '0') && followsNumber(a, at) ? 1 : 0;
    const [m, mEnd] = digitsFrom(a, at, start);
    const [n, nEnd] = digitsFrom(b, at, start);
    if (m !== n) return m - n;
    return mEnd === nEnd ? byBytes(x, y) : mEnd - nEnd;
  }
  return a.length - b.length;
};

/** Numbers and booleans by value, then null, then strings. */
const rank = (key: Value): number => {
  if (typeof key === 'string') return 2;
  return typeof key === 'boolean' || isInt(key) || isFloat(key) ? 0 : 1;
};

const numeric = (key: Value): number => {
  if (typeof key === 'boolean') return Number(key);
  return isInt(key) || isFloat(key) ? toNumber(key) : 0;
};

const compareKeys = (a: Value, b: Value): number => {
  if (typeof a === 'string' && typeof b === 'string') return compareNatural(a, b);
  const ranks = rank(a) - rank(b);
  if (ranks !== 0) return ranks;
  const values = numeric(a) - numeric(b);
  if (values !== 0) return values;
  const kinds = ['bool', 'int', 'float64'];
  return kinds.indexOf(kindOf(a)) - kinds.indexOf(kindOf(b));
};

/** Entries in yaml.v3's order. The bytewise sort first makes the result independent of insertion order. */
export const yamlEntries = (map: Dict | ValueMap): (readonly [Value, Value])[] =>
  isValueMap(map)
    ? [...map].sort(([a], [b]) => compareKeys(a, b))
    : Object.keys(map)
        .sort(byBytes)
        .sort(compareNatural)
        .map((key) => [key, map[key]] as const);

export type Scalar = null | undefined | boolean | string | Int | Float | Opaque;

export const isScalar = (value: Value): value is Scalar =>
  value === null ||
  typeof value !== 'object' ||
  value instanceof WholeFloat ||
  value instanceof SizedInt ||
  value instanceof Opaque;
