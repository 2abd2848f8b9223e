import { type GzipRecipe, gzipAgain } from './gzip-layer.ts';
import { MAX_STEPS, maxPackedBytes, stepsOf } from './limits.ts';
import type { OldContent } from './old-content.ts';
import { invalidPatch, openPatch, readNumber } from './open-patch.ts';
import type { PatchReader } from './patch-reader.ts';
import { fromZigzag } from './varint.ts';

const PIECE = 512 << 10;

/** Most bytes that one byte of deflate can produce (RFC 1951). */
const MAX_DEFLATE_RATIO = 1032;

/**
 * Streams the new blob, NOT verified: the caller checks digest and size. The patch is untrusted: memory is limited to zstd's
 * window and a few pieces, and time by the sizes of the old and new content.
 * @param old the old blob in the form of the patch
 * @param mostSteps upper bound on copies, each of which has a fixed cost
 * @param size of the new blob, when it is known
 * @throws FleetError DELTA_INVALID when it is not a patch, is a patch for other content, or does not produce a blob of this size
 */
export async function* applyPatch(
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  old: OldContent,
  mostSteps = MAX_STEPS,
  size?: number,
): AsyncGenerator<Uint8Array> {
  const { reader, recipe, oldSize } = await openPatch(patch);
  try {
    if (oldSize !== old.size) throw invalidPatch('it was made for another base');
    const content = await readSize(reader, recipe, size);
    const pieces = readContent(reader, old, content, Math.min(mostSteps, stepsOf(content)));
    yield* recipe ? gzipAgain(pieces, recipe) : pieces;
  } finally {
    await reader.close();
  }
}

/** Reads the size of the new content, and rejects an impossible one before any content is produced. */
const readSize = async (
  reader: PatchReader,
  recipe: GzipRecipe | undefined,
  blob: number | undefined,
): Promise<number> => {
  const size = await readNumber(reader);
  const most = maxPackedBytes(recipe?.level ?? 0);
  if (size > most) throw invalidPatch(`it would make more than ${most} bytes`);
  if (blob === undefined) return size;
  if (recipe ? size > blob * MAX_DEFLATE_RATIO : size !== blob)
    throw invalidPatch(`its ${size} bytes cannot be a blob of ${blob}`);
  return size;
};

async function* readContent(
  reader: PatchReader,
  old: OldContent,
  size: number,
  mostSteps: number,
): AsyncGenerator<Uint8Array> {
  const runOf = oldRuns(old);
  const out = gather(PIECE, size);
  let expected = 0;
  let steps = 0;
  for (let left = size; left > 0; ) {
    // Bounds the steps: a few hundred bytes of zstd can encode hours of one-byte steps. One literal step may follow the last copy.
    steps += 1;
    if (steps > mostSteps + 1) throw invalidPatch(`it takes more than ${mostSteps} steps`);
    const literal = await readNumber(reader);
    if (literal > left) throw invalidPatch('it has more literal bytes than it announces');
    left -= literal;
    for (let rest = literal; rest > 0; ) {
      const piece = await reader.some(Math.min(rest, PIECE));
      if (piece.byteLength === 0) throw invalidPatch('it ends early');
      rest -= piece.byteLength;
      if (!out.fits(piece)) yield out.take();
      out.add(piece);
    }
    const copied = await readNumber(reader);
    if (copied > left || literal + copied === 0) throw invalidPatch('it copies more than it announces');
    left -= copied;
    expected += literal;
    if (copied === 0) continue;
    const from = expected + fromZigzag(await readNumber(reader));
    if (from < 0 || from + copied > old.size) throw invalidPatch('it copies from outside of the base');
    for (let at = from; at < from + copied; at += PIECE) {
      const run = await runOf(at, Math.min(PIECE, from + copied - at));
      if (!out.fits(run)) yield out.take();
      out.add(run);
    }
    expected = from + copied;
  }
  if (size > 0) yield out.take();
  if ((await reader.take(1)).byteLength > 0) throw invalidPatch('there is data after its end');
}

/** Bytes of one read for short runs, a page: neighbouring runs then need one read. */
const WINDOW = 4 << 10;

/** Reads runs of the old content. A view is valid until the next call. */
const oldRuns = (old: OldContent): ((from: number, length: number) => Uint8Array | Promise<Uint8Array>) => {
  let start = 0;
  let window: Uint8Array = new Uint8Array(0);
  return (from, length) => {
    const isPresent = from >= start && from + length <= start + window.length;
    if (isPresent) return window.subarray(from - start, from - start + length);
    if (length >= WINDOW) return old.read(from, length);
    const keep = (bytes: Uint8Array): Uint8Array => {
      start = from;
      window = bytes;
      return bytes.subarray(0, length);
    };
    const read = old.read(from, Math.min(WINDOW, old.size - from));
    return read instanceof Promise ? read.then(keep) : keep(read);
  };
};

/** Joins short pieces into long ones: every piece passed on costs a hash update, a write and an iteration. */
type Gather = {
  readonly fits: (piece: Uint8Array) => boolean;
  /** Copies the piece; the caller may reuse its memory. */
  readonly add: (piece: Uint8Array) => void;
  /** Returns the bytes added so far and starts a new piece. */
  readonly take: () => Uint8Array;
};

/** @param most bytes of one piece @param total bytes of all pieces */
const gather = (most: number, total: number): Gather => {
  let left = total;
  let buffer = Buffer.allocUnsafe(Math.min(most, left));
  let filled = 0;
  return {
    fits: (piece) => filled + piece.byteLength <= buffer.byteLength,
    add: (piece) => {
      buffer.set(piece, filled);
      filled += piece.byteLength;
    },
    take: () => {
      const full = buffer.subarray(0, filled);
      left -= filled;
      buffer = Buffer.allocUnsafe(Math.min(most, left));
      filled = 0;
      return full;
    },
  };
};
