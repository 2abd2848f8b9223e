import { type Float, float, type Int } from '../../../model/go/number.ts';

const INTEGER =
  /^([-+]?)(0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|0[oO]_?[0-7]+(?:_[0-7]+)*|0[bB]_?[01]+(?:_[01]+)*|0(?:_?[0-7]+)*|[1-9][0-9]*(?:_[0-9]+)*)$/;
// Hexadecimal floats are not supported.
const FLOAT =
  /^[-+]?(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;

const MAX_INT = (1n << 63n) - 1n;

const integerFrom = (sign: string, digits: string): bigint => {
  const plain = digits.replaceAll('_', '').toLowerCase();
  const octal = /^0[0-7]+$/.test(plain) ? `0o${plain.slice(1)}` : plain;
  const magnitude = BigInt(octal);
  return sign === '-' ? -magnitude : magnitude;
};

/**
 * The value of a number literal in a template: an integer literal gives an int, anything else a float (1e3 is a float, as in
 * Go). Undefined when the text is not a number or does not fit.
 */
export const numberLiteral = (text: string): Int | Float | undefined => {
  const match = INTEGER.exec(text);
  if (match) {
    const [, sign = '', digits = ''] = match;
    const value = integerFrom(sign, digits);
    if (value > MAX_INT || value < -MAX_INT - 1n) return undefined;
    const small = Number(value);
    return Number.isSafeInteger(small) ? small : value;
  }
  // An invalid integer (08, or one that is too large) is not read as a float either.
  if (!/[.eE]/.test(text) || !FLOAT.test(text)) return undefined;
  const value = Number(text.replaceAll('_', ''));
  return Number.isFinite(value) ? float(value) : undefined;
};
