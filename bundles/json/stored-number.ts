import { yamlNumber } from './yaml-numbers.ts';

/** The value of a plain scalar: a bigint beyond 2^53, text if it is not a number, `unsent` if the API server cannot store it as it is written. */
export type StoredNumber = number | bigint | string | { readonly unsent: string };

const MAX_STORED = 2n ** 63n - 1n;

/**
 * The number that the API server stores for a plain YAML scalar: whole numbers have 64 bits with a sign there, all others are doubles. A whole
 * number that it would round is not sent.
 */
export const storedNumber = (text: string): StoredNumber => {
  const value = yamlNumber(text);
  if (value === undefined) return text;
  const plain = text.replaceAll('_', '');
  const isInteger = /^[-+]?\d+$/.test(plain);
  const written = isInteger && typeof value !== 'bigint' ? integerOf(plain) : undefined;
  const whole = typeof value === 'bigint' ? value : written;
  if (whole === undefined) {
    if (!Number.isFinite(value)) return { unsent: 'JSON has no infinity and no NaN' };
    return asPositiveZero(Number(value));
  }
  const double = Number(whole);
  if (Number.isSafeInteger(double)) return double;
  if (typeof value === 'bigint' && whole <= MAX_STORED) return whole;
  if (BigInt(double) === whole) return double;
  return { unsent: 'it would be rounded, because whole numbers have 64 bits with a sign' };
};

/** JSON has no negative zero for the agent to compare. */
const asPositiveZero = (value: number): number => (value === 0 ? 0 : value);

const integerOf = (plain: string): bigint =>
  plain.startsWith('-') ? -BigInt(plain.slice(1)) : BigInt(plain.replace('+', ''));
