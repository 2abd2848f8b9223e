/**
 * Go distinguishes 5 (int) from 5.0 (float64), JavaScript does not. Here every number has exactly one form: an integer is a
 * `number` while that is exact, else a `bigint`; a float is a `number`, or a WholeFloat when its value is whole. So `typeof`
 * and Number.isSafeInteger decide the Go type.
 */

/** A float64 with a whole value, like YAML's `5.0` and `1e6`. Create it with `float`. */
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

/** An integer of a Go type other than int: sprig's arithmetic returns int64, indexing a string returns uint8. */
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

/** The float64 with this value. */
export const float = (value: number): Float => (Number.isSafeInteger(value) ? new WholeFloat(value) : value);

export const isInt = (value: unknown): value is Int =>
  typeof value === 'number'
    ? Number.isSafeInteger(value)
    : typeof value === 'bigint' || value instanceof SizedInt;

/** The integer without its Go type. */
export const plainInt = (value: Int): PlainInt => (value instanceof SizedInt ? value.value : value);

/** Whether the integer needs Go's uint64. */
export const isUint64 = (value: Int): boolean => typeof value === 'bigint' && value >= 1n << 63n;

export const isFloat = (value: unknown): value is Float =>
  value instanceof WholeFloat || (typeof value === 'number' && !Number.isSafeInteger(value));

/** Normalizes an integer and wraps it at 64 bits, as Go's int64 does. */
export const int = (value: bigint): PlainInt => {
  const wrapped = BigInt.asIntN(64, value);
  const small = Number(wrapped);
  return Number.isSafeInteger(small) ? small : wrapped;
};

/** Wraps the value as an int64. */
export const int64 = (value: PlainInt): SizedInt =>
  new SizedInt('int64', typeof value === 'number' ? value : int(value));

/** The nearest JavaScript number. */
export const toNumber = (value: Int | Float): number =>
  value instanceof WholeFloat || value instanceof SizedInt ? Number(value.value) : Number(value);

/** The shortest digits that read back as this float, and the decimal exponent. */
const shortest = (value: number): { readonly digits: string; readonly exponent: number } => {
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e');
  return { digits: mantissa.replace('.', ''), exponent: Number(exponent) };
};

/** A float64 as Go's %v and yaml.v3 print it: 1e+06, 1.5, 2.5e-05, +Inf, NaN. */
export const formatFloat = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const { digits, exponent } = shortest(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  // Below 1e-4 and from 1e+06 on Go prints the exponent form.
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
