import { fail, type Run } from '../../run.ts';
import {
  type Int,
  int,
  int64,
  isFloat,
  isInt,
  plainInt,
  type SizedInt,
  toNumber,
} from '../../../model/go/number.ts';
import { goText } from '../print.ts';
import type { Value } from '../values/value.ts';
import { type FunctionTable, fixed, variadic } from './template-function.ts';

/** sprig's arithmetic on 64-bit integers, which wrap. A value that is not a number counts as 0. */

const MAX = (1n << 63n) - 1n;
const MIN = -(1n << 63n);

const fits = (value: bigint): boolean => value <= MAX && value >= MIN;

const parseInteger = (text: string, base: 8 | 10): bigint => {
  const match = /^([-+]?)([0-9]+)$/.exec(text);
  if (!match || (base === 8 && /[89]/.test(text))) return 0n;
  // Longer numbers do not fit, and parsing them takes quadratic time.
  const digits = (match[2] ?? '').replace(/^0+(?=.)/, '');
  if (digits.length > 24) return 0n;
  const magnitude = BigInt(`${base === 8 ? '0o' : ''}${digits}`);
  const value = match[1] === '-' ? -magnitude : magnitude;
  return fits(value) ? value : 0n;
};

/** sprig's toInt64: parses decimal texts, truncates floats; anything else is 0. */
export const toBig = (value: Value): bigint => {
  if (typeof value === 'string') return parseInteger(value, 10);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (isInt(value)) {
    const whole = BigInt(plainInt(value));
    // A uint64 beyond int64 becomes the largest int64.
    return whole > MAX ? MAX : whole;
  }
  if (!isFloat(value)) return 0n;
  const whole = Math.trunc(toNumber(value));
  return Number.isFinite(whole) && fits(BigInt(whole)) ? BigInt(whole) : MIN;
};

/** Below this bound numbers are exact, and no bigint is needed. */
const SMALL = 2 ** 26;
const isSmall = (value: Value): value is Int => {
  if (!isInt(value)) return false;
  const plain = plainInt(value);
  return typeof plain === 'number' && plain > -SMALL && plain < SMALL;
};

const operation =
  (fast: (a: number, b: number) => number, exact: (a: bigint, b: bigint) => bigint) =>
  (a: Value, b: Value): SizedInt =>
    int64(isSmall(a) && isSmall(b) ? fast(toNumber(a), toNumber(b)) + 0 : int(exact(toBig(a), toBig(b))));

const add = operation(
  (a, b) => a + b,
  (a, b) => a + b,
);
const subtract = operation(
  (a, b) => a - b,
  (a, b) => a - b,
);
const multiply = operation(
  (a, b) => a * b,
  (a, b) => a * b,
);
const quotient = operation(
  (a, b) => Math.trunc(a / b),
  (a, b) => a / b,
);
const remainder = operation(
  (a, b) => a % b,
  (a, b) => a % b,
);
const larger = operation(Math.max, (a, b) => (a > b ? a : b));
const smaller = operation(Math.min, (a, b) => (a < b ? a : b));

const divide = (run: Run, by: Value, apply: () => Int): Int =>
  toBig(by) === 0n ? fail(run, 'division by zero') : apply();

const fold =
  (step: (a: Value, b: Value) => SizedInt) =>
  (_run: Run, first: Value, ...others: readonly Value[]) =>
    others.reduce<SizedInt>(step, int64(int(toBig(first))));

const max = variadic(['any'], 'any', fold(larger));

export const MATH: FunctionTable = {
  int: fixed(['any'], (_run, value) => int(toBig(value))),
  int64: fixed(['any'], (_run, value) => int64(int(toBig(value)))),
  atoi: fixed(['string'], (_run, text) => int(parseInteger(text, 10))),
  toDecimal: fixed(['any'], (run, value) => int64(int(parseInteger(goText(run, value), 8)))),
  add: variadic([], 'any', (_run, ...values) => values.reduce<SizedInt>(add, int64(0))),
  add1: fixed(['any'], (_run, value) => add(value, 1)),
  sub: fixed(['any', 'any'], (_run, a, b) => subtract(a, b)),
  mul: variadic(['any'], 'any', fold(multiply)),
  div: fixed(['any', 'any'], (run, a, b) => divide(run, b, () => quotient(a, b))),
  mod: fixed(['any', 'any'], (run, a, b) => divide(run, b, () => remainder(a, b))),
  max,
  biggest: max,
  min: variadic(['any'], 'any', fold(smaller)),
};
