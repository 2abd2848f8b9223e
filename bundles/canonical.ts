import { compareBytes } from './digest.ts';

/** What our documents are made of: JSON without fractions, so that every language writes the same bytes. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/**
 * The bytes that are hashed and signed: keys sorted bytewise, no white space, integers only, undefined left out
 * (docs/bundle-format.md section 1; RFC 8785 restricted to integers).
 * @throws TypeError on fractions, NaN, and anything JSON has no word for: a programming error, never input
 */
export const canonicalJson = (value: Json): string => {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new TypeError(`canonical JSON has integers only, not ${value}`);
    return String(value);
  }
  if (Array.isArray(value)) return `[${Array.from(value as readonly Json[], canonicalJson).join(',')}]`;
  // A Date or a Map has no entries and would become {}.
  if (Object.prototype.toString.call(value) === '[object Object]') {
    const entries = Object.entries(value)
      .filter((entry): entry is [string, Json] => entry[1] !== undefined)
      .toSorted(([a], [b]) => compareBytes(a, b));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  throw new TypeError(`canonical JSON has no ${Object.prototype.toString.call(value).slice(8, -1)}`);
};

export const canonicalBytes = (value: Json): Buffer => Buffer.from(canonicalJson(value));
