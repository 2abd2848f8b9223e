import { fail, type Run } from '../../run.ts';
import { type Float, float, type Int, int, isFloat, isInt, toNumber } from '../number.ts';
import { goText } from '../print.ts';
import type { Value } from '../value.ts';
import { type FunctionTable, fixed, variadic } from './template-function.ts';

/** sprig's arithmetic: 64-bit integers that wrap, and whatever is no number counts as 0. */

const MAX = (1n << 63n) - 1n;
const MIN = -(1n << 63n);

const fits = (value: bigint): boolean => value <= MAX && value >= MIN;

const parseInteger = (text: string, base: 8 | 10): bigint => {
  const match = /^([-+]?)([0-9]+)$/.exec(text);
  if (!match || (base === 8 && /[89]/.test(text))) return 0n;
  const magnitude = BigInt(`${base === 8 ? '0o' : ''}${match[2]}`);
  const value = match[1] === '-' ? -magnitude : magnitude;
  return fits(value) ? value : 0n;
};

/** As sprig's toInt64: texts in decimal, floats cut off, everything else 0. */
const toBig = (value: Value): bigint => {
  if (typeof value === 'string') return parseInteger(value, 10);
  if (typeof value === 'boolean') return value ? 1n : 0n;
  // A uint64 beyond int64 becomes the largest int64.
  if (isInt(value)) return BigInt(value) > MAX ? MAX : BigInt(value);
  if (!isFloat(value)) return 0n;
  const whole = Math.trunc(toNumber(value));
  return Number.isFinite(whole) && fits(BigInt(whole)) ? BigInt(whole) : MIN;
};

const toFloat = (value: Value): number => {
  if (typeof value === 'boolean') return Number(value);
  if (isInt(value) || isFloat(value)) return toNumber(value);
  if (typeof value !== 'string') return 0;
  return /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/.test(value) ? Number(value) : 0;
};

/** Small operands need no bigint: their results are exact as they are. */
const SMALL = 2 ** 26;
const isSmall = (value: Value): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value > -SMALL && value < SMALL;

const operation =
  (fast: (a: number, b: number) => number, exact: (a: bigint, b: bigint) => bigint) =>
  (a: Value, b: Value): Int =>
    isSmall(a) && isSmall(b) ? fast(a, b) + 0 : int(exact(toBig(a), toBig(b)));

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
const larger = (a: Value, b: Value): Int => int(toBig(a) > toBig(b) ? toBig(a) : toBig(b));
const smaller = (a: Value, b: Value): Int => int(toBig(a) < toBig(b) ? toBig(a) : toBig(b));

const divide = (run: Run, by: Value, apply: () => Int): Int =>
  toBig(by) === 0n ? fail(run, 'division by zero') : apply();

const fold =
  (step: (a: Value, b: Value) => Int) =>
  (_run: Run, first: Value, ...others: readonly Value[]) =>
    others.reduce<Int>(step, int(toBig(first)));

const floats =
  (step: (a: number, b: number) => number) =>
  (_run: Run, first: Value, ...others: readonly Value[]): Float =>
    float(others.map(toFloat).reduce(step, toFloat(first)));

/** sprig's round: half away from zero only upwards (its own way with negative numbers). */
const round = (value: Value, places: number, half: number): Float => {
  const power = 10 ** places;
  const digit = power * toFloat(value);
  const fraction = digit - Math.trunc(digit);
  return float((fraction >= half ? Math.ceil(digit) : Math.floor(digit)) / power);
};

const max = variadic(['any'], 'any', fold(larger));

export const MATH: FunctionTable = {
  int: fixed(['any'], (_run, value) => int(toBig(value))),
  int64: fixed(['any'], (_run, value) => int(toBig(value))),
  float64: fixed(['any'], (_run, value) => float(toFloat(value))),
  atoi: fixed(['string'], (_run, text) => int(parseInteger(text, 10))),
  toDecimal: fixed(['any'], (run, value) => int(parseInteger(goText(run, value), 8))),
  add: variadic([], 'any', (_run, ...values) => values.reduce<Int>(add, 0)),
  add1: fixed(['any'], (_run, value) => add(value, 1)),
  sub: fixed(['any', 'any'], (_run, a, b) => subtract(a, b)),
  mul: variadic(['any'], 'any', fold(multiply)),
  div: fixed(['any', 'any'], (run, a, b) => divide(run, b, () => quotient(a, b))),
  mod: fixed(['any', 'any'], (run, a, b) => divide(run, b, () => remainder(a, b))),
  max,
  biggest: max,
  min: variadic(['any'], 'any', fold(smaller)),
  maxf: variadic(
    ['any'],
    'any',
    floats((a, b) => Math.max(a, b)),
  ),
  minf: variadic(
    ['any'],
    'any',
    floats((a, b) => Math.min(a, b)),
  ),
  ceil: fixed(['any'], (_run, value) => float(Math.ceil(toFloat(value)))),
  floor: fixed(['any'], (_run, value) => float(Math.floor(toFloat(value)))),
  round: variadic(['any', 'int'], 'any', (_run, value, places, half) =>
    round(value, places, half === undefined ? 0.5 : toFloat(half)),
  ),
};
