/**
 * Go tells 5 (int) from 5.0 (float64) and JavaScript does not. Every number has exactly one form here:
 * an integer is a `number` while that is exact and a `bigint` beyond; a float is a `number`, unless it is whole, then a
 * WholeFloat. So `typeof` and Number.isSafeInteger decide the Go type.
 */

/** A float64 with a whole value, as YAML's `5.0` and `1e6` are. Make it with `float`. */
export class WholeFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toJSON(): number {
    return this.value;
  }
}

export type IntType = 'int64' | 'uint8';

/** An integer of another Go type than int: sprig's arithmetic gives int64, a place in a text uint8. */
export class SizedInt {
  readonly type: IntType;
  readonly value: PlainInt;

  constructor(type: IntType, value: PlainInt) {
    this.type = type;
    this.value = value;
  }

  toString(): string {
    return String(this.value);
  }
}

export type PlainInt = number | bigint;
export type Int = PlainInt | SizedInt;
export type Float = number | WholeFloat;

/** The float64 of this value. */
export const float = (value: number): Float => (Number.isSafeInteger(value) ? new WholeFloat(value) : value);

export const isInt = (value: unknown): value is Int =>
  typeof value === 'number'
    ? Number.isSafeInteger(value)
    : typeof value === 'bigint' || value instanceof SizedInt;

/** The integer itself, whatever its Go type. */
export const plainInt = (value: Int): PlainInt => (value instanceof SizedInt ? value.value : value);

/** Does the integer need Go's uint64? */
export const isUint64 = (value: Int): boolean => typeof value === 'bigint' && value >= 1n << 63n;

export const isFloat = (value: unknown): value is Float =>
  value instanceof WholeFloat || (typeof value === 'number' && !Number.isSafeInteger(value));

/** An integer in its one form, wrapped at 64 bits as Go's int64 does. */
export const int = (value: bigint): PlainInt => {
  const wrapped = BigInt.asIntN(64, value);
  const small = Number(wrapped);
  return Number.isSafeInteger(small) ? small : wrapped;
};

/** An int64 in its one form. */
export const int64 = (value: PlainInt): SizedInt =>
  new SizedInt('int64', typeof value === 'number' ? value : int(value));

/** The JavaScript number nearest to any of our numbers. */
export const toNumber = (value: Int | Float): number =>
  value instanceof WholeFloat || value instanceof SizedInt ? Number(value.value) : Number(value);

/** The digits of the shortest text that reads back as this float, and its decimal exponent. */
const shortest = (value: number): { readonly digits: string; readonly exponent: number } => {
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e');
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) };
};

/** A float64 as Go prints it with %v, and yaml.v3 with it: 1e+06, 1.5, 2.5e-05, +Inf, NaN. */
export const formatFloat = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const { digits, exponent } = shortest(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  // The exponent form below 1e-4 and from 1e+06 on.
  if (exponent < -4 || exponent >= 6) {
    const power = String(Math.abs(exponent)).padStart(2, '0');
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${power}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const fraction = digits.slice(exponent + 1);
  return `${sign}${whole}${fraction && `.${fraction}`}`;
};
