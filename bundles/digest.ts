import { hash } from 'node:crypto';
import { FleetError } from './errors.ts';

/** 'sha256:' and 64 lower-case hex digits (OCI image spec, descriptor, "digests"). The only algorithm we write or read. */
export type Digest = `sha256:${string}`;

const PATTERN = /^sha256:[0-9a-f]{64}$/;

export const isDigest = (text: unknown): text is Digest => typeof text === 'string' && PATTERN.test(text);

/** @throws FleetError SCHEMA when the text is not a sha256 digest */
export const parseDigest = (text: unknown, what = 'digest'): Digest => {
  if (isDigest(text)) return text;
  throw new FleetError(
    'SCHEMA',
    `${what} must be sha256: and 64 hex digits, not ${JSON.stringify(text)?.slice(0, 80)}`,
  );
};

export const digestOf = (bytes: Uint8Array | string): Digest => `sha256:${hash('sha256', bytes, 'hex')}`;

/** The 64 hex digits alone, as file names and in-toto subjects want them. */
export const hexOf = (digest: Digest): string => digest.slice('sha256:'.length);

/** A digest from 64 hex digits. Values that are not strings are refused. @throws FleetError SCHEMA */
export const digestFromHex = (hex: unknown, what?: string): Digest =>
  parseDigest(typeof hex === 'string' ? `sha256:${hex}` : hex, what);

/** 'sha256:0123456789ab', for people. */
export const shortDigest = (digest: Digest): string => digest.slice(0, 'sha256:'.length + 12);

/** Bytewise order, which every sorted list in our formats uses (never the locale's). */
export const compareBytes = (a: string, b: string): number => {
  if (a === b) return 0;
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at++) {
    const one = a.charCodeAt(at);
    const other = b.charCodeAt(at);
    // UTF-16 units sort as their UTF-8 bytes do, except surrogates: they encode characters above U+FFFF.
    if (one !== other) return isSurrogate(one) || isSurrogate(other) ? compareEncoded(a, b) : one - other;
  }
  return a.length - b.length;
};

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

const compareEncoded = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
