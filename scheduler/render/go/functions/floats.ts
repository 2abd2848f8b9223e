import { checkLength, fail, type Run, chargeSteps } from '../../run.ts';
import { type Float, float, isFloat, isInt, toNumber } from '../../../model/go/number.ts';
import type { Value } from '../values/value.ts';
import {
  addDecimals,
  type Decimal,
  decimal,
  decimalToNumber,
  divideDecimals,
  multiplyDecimals,
  subtractDecimals,
} from '../../../model/go/decimal.ts';
import { type FunctionTable, fixed, variadic } from './template-function.ts';

/** sprig's arithmetic on floats. A value that is not a number counts as 0. */

const DECIMAL =
  /^[-+]?(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9](?:_?[0-9])*)?$/;
const SPECIAL = /^(?:[-+]?inf(?:inity)?|nan)$/i;

/** Go's ParseFloat without hexadecimal; 0 for what it refuses, including numbers out of range. */
const parseFloatText = (text: string): number => {
  if (SPECIAL.test(text)) {
    if (/^nan$/i.test(text)) return NaN;
    return text.startsWith('-') ? -Infinity : Infinity;
  }
  if (!DECIMAL.test(text) || text.includes('_')) return 0;
  const value = Number(text);
  return Number.isFinite(value) ? value : 0;
};

const toFloat = (value: Value): number => {
  if (typeof value === 'boolean') return Number(value);
  if (isInt(value) || isFloat(value)) return toNumber(value);
  return typeof value === 'string' ? parseFloatText(value) : 0;
};

/** Go's math.Max and Min: NaN wins, and -0 is less than 0, as in JavaScript. */
const floats =
  (step: (a: number, b: number) => number) =>
  (_run: Run, first: Value, ...others: readonly Value[]): Float =>
    float(others.map(toFloat).reduce((a, b) => step(a, b), toFloat(first)));

/** sprig's round: a half goes away from zero only for positive numbers. */
const round = (value: Value, places: number, half: number): Float => {
  const power = 10 ** places;
  const digit = power * toFloat(value);
  const fraction = digit - Math.trunc(digit);
  return float((fraction >= half ? Math.ceil(digit) : Math.floor(digit)) / power);
};

const exact = (run: Run, value: Value): Decimal => {
  const number = toFloat(value);
  return Number.isFinite(number) ? decimal(number) : fail(run, `${String(number)} is not a decimal number`);
};

/** sprig's addf etc.: exact decimals in between, so that 0.1 + 0.2 is 0.3. */
const decimals =
  (step: (run: Run, a: Decimal, b: Decimal) => Decimal) =>
  (run: Run, first: Value, ...others: readonly Value[]): Float => {
    let total = exact(run, first);
    for (const other of others) {
      total = step(run, total, exact(run, other));
      const length = total.value.toString(16).length;
      checkLength(run, length);
      chargeSteps(run, length >>> 3);
    }
    return float(decimalToNumber(total));
  };

const sum = decimals((_run, a, b) => addDecimals(a, b));

export const FLOATS: FunctionTable = {
  float64: fixed(['any'], (_run, value) => float(toFloat(value))),
  ceil: fixed(['any'], (_run, value) => float(Math.ceil(toFloat(value)))),
  floor: fixed(['any'], (_run, value) => float(Math.floor(toFloat(value)))),
  round: variadic(['any', 'int'], 'float', (_run, value, places, half = 0.5) => round(value, places, half)),
  maxf: variadic(['any'], 'any', floats(Math.max)),
  minf: variadic(['any'], 'any', floats(Math.min)),
  addf: variadic([], 'any', (run, ...values) => sum(run, 0, ...values)),
  add1f: fixed(['any'], (run, value) => sum(run, value, 1)),
  subf: variadic(
    ['any'],
    'any',
    decimals((_run, a, b) => subtractDecimals(a, b)),
  ),
  mulf: variadic(
    ['any'],
    'any',
    decimals((_run, a, b) => multiplyDecimals(a, b)),
  ),
  divf: variadic(
    ['any'],
    'any',
    decimals((run, a, b) => (b.value === 0n ? fail(run, 'division by zero') : divideDecimals(a, b))),
  ),
};
