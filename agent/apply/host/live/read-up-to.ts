import type { FileHandle } from 'node:fs/promises';
import { stopIfAborted } from '../host-error.ts';

/** How much of a file is read, and what stops the reading. */
export type Bounds = { readonly maxBytes: number; readonly signal: AbortSignal };

const PIECE = 1 << 18;

/**
 * The first `maxBytes` of a file, piece by piece. A piece is good until the next one is asked for.
 * @param expected bytes that the file seems to have: a small one needs a small buffer
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
