import { createHash } from 'node:crypto';
import { compareBytes } from '../digest.ts';

/** Hash of a JSON value, independent of key order. Unlike canonical JSON, it accepts fractions and whole numbers beyond 2^53 (bigint). */
export const stableHash = (value: unknown): string => hashText(stableText(value));

export const hashText = (text: string): string => createHash('sha256').update(text).digest('hex');

export const stableText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const sorted = entries.toSorted(([a], [b]) => compareBytes(a, b));
  return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${stableText(item)}`).join(',')}}`;
};
