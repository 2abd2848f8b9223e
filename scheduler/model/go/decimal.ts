/** An exact decimal number: value × 10^exponent. */
export type Decimal = { readonly value: bigint; readonly exponent: number };

/** Decimal places of a quotient. */
const PLACES = 16;

/** The shortest decimal that reads back as this finite float. */
export const decimal = (value: number): Decimal => {
  const [mantissa = '0', power = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { value: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
};

/** Both values, scaled to the smaller exponent, and that exponent. */
const aligned = (a: Decimal, b: Decimal): readonly [bigint, bigint, number] => {
  const exponent = Math.min(a.exponent, b.exponent);
  const scale = ({ value, exponent: own }: Decimal): bigint => value * 10n ** BigInt(own - exponent);
  return [scale(a), scale(b), exponent];
};

export const addDecimals = (a: Decimal, b: Decimal): Decimal => {
  const [x, y, exponent] = aligned(a, b);
  return { value: x + y, exponent };
};

export const subtractDecimals = (a: Decimal, b: Decimal): Decimal =>
  addDecimals(a, { value: -b.value, exponent: b.exponent });

export const multiplyDecimals = (a: Decimal, b: Decimal): Decimal => ({
  value: a.value * b.value,
  exponent: a.exponent + b.exponent,
});

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** Rounded to 16 places, halves away from zero. `b` must not be zero. */
export const divideDecimals = (a: Decimal, b: Decimal): Decimal => {
  const [x, y] = aligned(a, b);
  const shifted = magnitude(x) * 10n ** BigInt(PLACES);
  const divisor = magnitude(y);
  const quotient = (2n * shifted + divisor) / (2n * divisor);
  return { value: x < 0n === y < 0n ? quotient : -quotient, exponent: -PLACES };
};

/** The nearest float. */
export const decimalToNumber = ({ value, exponent }: Decimal): number => Number(`${value}e${exponent}`);
