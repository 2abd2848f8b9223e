import type { FileHandle } from 'node:fs/promises';
import { stopIfAborted } from '../host-error.ts';

/** Limit and abort signal for reading a file. */
export type Bounds = { readonly maxBytes: number; readonly signal: AbortSignal };

const PIECE = 1 << 20;

/**
 * Yields the first `maxBytes` of a file in chunks. A chunk is valid until the next one is requested.
 * @param expected size of the file in bytes, for the size of the buffer
 * @throws FleetError ABORTED
 */
export async function* readUpTo(
  file: FileHandle,
  { maxBytes, signal }: Bounds,
  expected = PIECE,
): AsyncGenerator<Buffer, void> {
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(PIECE, maxBytes, expected + 1)));
  for (let position = 0; position < maxBytes; ) {
    stopIfAborted(signal);
    const length = Math.min(buffer.length, maxBytes - position);
    const { bytesRead } = await file.read(buffer, 0, length, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
