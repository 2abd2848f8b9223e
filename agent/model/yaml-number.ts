/** The value of a plain scalar: a bigint beyond 2^53, text if it is no number, `unsent` if the API server cannot store it as it is written. */
export type PlainNumber = number | bigint | string | { readonly unsent: string };

const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const LEADING_POINT = /^\.\d+(?:_\d+)*(?:[eE][-+]?\d+(?:_\d+)*)?$/;
const NOT_FINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const [LEAST, MOST, MOST_UNSIGNED] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

/**
 * Reads a plain scalar as kubectl, Kustomize and the API server do (go-yaml: `0644` and `0o644` are octal, `1_000` is a number, `08` a
 * decimal, `e5`, `1e999` and a hexadecimal number of more than 64 bits are text). The API server stores whole numbers of 64 bits with a
 * sign, and all others as doubles.
 */
export const yamlNumber = (text: string): PlainNumber => {
  if (NOT_FINITE.test(text)) return { unsent: 'JSON has no infinity and no NaN' };
  if (text.startsWith('.')) return LEADING_POINT.test(text) ? finite(text.replaceAll('_', ''), text) : text;
  const plain = text.replaceAll('_', '');
  const whole = wholeOf(plain);
  if (whole !== undefined && whole >= LEAST && whole <= MOST) return asNumber(whole);
  const isUnsigned = whole !== undefined && whole <= MOST_UNSIGNED && !/^[-+]/.test(plain);
  const double = isUnsigned ? whole : decimalOf(plain);
  if (double === undefined) return FLOAT.test(plain) ? finite(plain, text) : text;
  if (BigInt(Number(double)) === double) return asPositiveZero(Number(double));
  return { unsent: 'it would be rounded, because whole numbers have 64 bits with a sign' };
};

/** Go reads a number that is too large for a double as text. */
const finite = (plain: string, text: string): number | string => {
  const value = Number(plain);
  return Number.isFinite(value) ? asPositiveZero(value) : text;
};

const asPositiveZero = (value: number): number => (value === 0 ? 0 : value);

const asNumber = (whole: bigint): number | bigint => {
  const value = Number(whole);
  return Number.isSafeInteger(value) ? value : whole;
};

/** As strconv.ParseInt with base 0, without a limit. */
const wholeOf = (plain: string): bigint | undefined => {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/s.exec(plain) ?? [];
  const literal = /^0[0-7]+$/.test(digits) ? `0o${digits}` : digits;
  if (!/^(?:0|[1-9]\d*|0[bB][01]+|0[oO][0-7]+|0[xX][\da-fA-F]+)$/.test(literal)) return undefined;
  return sign === '-' ? -BigInt(literal) : BigInt(literal);
};

/** A decimal that Go reads as a float: one of more than 64 bits, or `08`, which is no octal number. */
const decimalOf = (plain: string): bigint | undefined => {
  const [, sign = '', digits] = /^([-+]?)(\d+)$/.exec(plain) ?? [];
  if (digits === undefined) return undefined;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
};
