import { isUtf8 } from 'node:buffer';
import { FleetError } from './errors.ts';
import type { Shape } from './json-shape.ts';
import { readJson } from './read-json.ts';

/** Caps on untrusted JSON (security design: "caps first"). Bytes, levels. */
export type JsonLimits = {
  readonly maxBytes: number;
  readonly maxDepth?: number;
  /** The fields that are built; all of them by default. */
  readonly shape?: Shape;
  /** Bytes of memory that the result may take; twice `maxBytes` and 32 MiB by default, which no small document is near. */
  readonly maxHeld?: number;
};

const FREE_BYTES = 32 << 20;

/**
 * Parses JSON that a stranger may have written: size, depth, UTF-8, duplicate keys and documents that would take far more memory
 * than they have bytes are refused by name before anything looks at the content. No message quotes the content.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP
 */
export const parseStrictJson = (
  bytes: Uint8Array,
  { maxBytes, maxDepth = 32, shape = 'whole', maxHeld = 2 * maxBytes + FREE_BYTES }: JsonLimits,
  what = 'document',
): unknown => {
  if (bytes.byteLength > maxBytes) {
    throw new FleetError('TOO_LARGE', `${what} has ${bytes.byteLength} bytes, at most ${maxBytes} are read`);
  }
  if (!isUtf8(bytes)) throw new FleetError('BAD_JSON', `${what} is not UTF-8`);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return readJson(buffer, { maxDepth, maxHeld, shape, what });
};
