import { type Float, float, type Int } from './number.ts';

const INTEGER =
  /^([-+]?)(0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[oO]_?[0-7]+(?:_[0-7]+)*|0[bB]_?[01]+(?:_[01]+)*|0(?:_?[0-7]+)*|[1-9][0-9]*(?:_[0-9]+)*)$/;
// Without hexadecimal floats, which nobody writes in a template.
const FLOAT =
  /^[-+]?(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;

const MAX_INT = (1n << 63n) - 1n;

const integerFrom = (sign: string, digits: string): bigint => {
  const plain = digits.replaceAll('_', '').toLowerCase();
  const octal = /^0[0-7]+$/.test(plain) ? `0o${plain.slice(1)}` : plain;
  const magnitude = BigInt(octal);
  return sign === '-' ? -magnitude : magnitude;
};

/** The value of a number in a template: an int where it is written as one (1e3 is a float, as in Go), else a float. */
export const numberLiteral = (text: string): Int | Float | undefined => {
  const match = INTEGER.exec(text);
  if (match) {
    const [, sign = '', digits = ''] = match;
    const value = integerFrom(sign, digits);
    if (value > MAX_INT || value < -MAX_INT - 1n) return undefined;
    const small = Number(value);
    return Number.isSafeInteger(small) ? small : value;
  }
  // What looks like an integer and is none (08, or too large) is not taken for a float either.
  if (!/[.eE]/.test(text) || !FLOAT.test(text)) return undefined;
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? float(value) : undefined;
};
