import { gather } from './gather.ts';
import { type GzipRecipe, gzipAgain } from './gzip-layer.ts';
import { MAX_STEPS, mostPacked, stepsOf } from './limits.ts';
import type { OldContent } from './old-content.ts';
import { oldRuns } from './old-runs.ts';
import { invalidPatch, openPatch, readNumber } from './open-patch.ts';
import type { PatchReader } from './patch-reader.ts';
import { fromZigzag } from './varint.ts';

const PIECE = 512 << 10;

/** RFC 1951 packs no more bytes than this into one. */
const DEFLATE_MOST = 1032;

/**
 * The new blob, piece by piece and NOT verified: whoever keeps it checks digest and size. Nothing that the patch says is
 * believed, never more memory is taken than for zstd's window and a few pieces, and the work is bounded by the sizes of both.
 * @param old is asked for with the form that the patch has @param mostSteps copies, each of which costs time of
 * its own @param size of the new blob, where it is known
 * @throws FleetError DELTA_INVALID for what is no patch, or is none of this old blob, or makes no blob of this size
 */
export async function* applyPatch(
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  old: OldContent,
  mostSteps = MAX_STEPS,
  size?: number,
): AsyncGenerator<Uint8Array> {
  const { reader, recipe, oldSize } = await openPatch(patch);
  try {
    if (oldSize !== old.size) throw invalidPatch('it was made of something else');
    const content = await readSize(reader, recipe, size);
    const pieces = readContent(reader, old, content, Math.min(mostSteps, stepsOf(content)));
    yield* recipe ? gzipAgain(pieces, recipe) : pieces;
  } finally {
    await reader.close();
  }
}

/** Of the new content. Before the first byte of it is made: nothing that cannot be the blob is worth any work. */
const readSize = async (
  reader: PatchReader,
  recipe: GzipRecipe | undefined,
  blob: number | undefined,
): Promise<number> => {
  const size = await readNumber(reader);
  const most = mostPacked(recipe?.level ?? 0);
  if (size > most) throw invalidPatch(`it would make more than ${most} bytes`);
  if (blob === undefined) return size;
  if (recipe ? size > blob * DEFLATE_MOST : size !== blob)
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
    // A few hundred bytes of zstd could be hours of single bytes. Behind the last copy one step tells the rest.
    steps += 1;
    if (steps > mostSteps + 1) throw invalidPatch(`it takes more than ${mostSteps} steps`);
    const told = await readNumber(reader);
    if (told > left) throw invalidPatch('it tells more than it announces');
    left -= told;
    for (let rest = told; rest > 0; ) {
      const piece = await reader.some(Math.min(rest, PIECE));
      if (piece.byteLength === 0) throw invalidPatch('it ends early');
      rest -= piece.byteLength;
      if (!out.fits(piece)) yield out.take();
      out.add(piece);
    }
    const copied = await readNumber(reader);
    if (copied > left || told + copied === 0) throw invalidPatch('it copies more than it announces');
    left -= copied;
    expected += told;
    if (copied === 0) continue;
    const from = expected + fromZigzag(await readNumber(reader));
    if (from < 0 || from + copied > old.size) throw invalidPatch('it copies what is not there');
    for (let at = from; at < from + copied; at += PIECE) {
      const run = await runOf(at, Math.min(PIECE, from + copied - at));
      if (!out.fits(run)) yield out.take();
      out.add(run);
    }
    expected = from + copied;
  }
  if (size > 0) yield out.take();
  if ((await reader.take(1)).byteLength > 0) throw invalidPatch('something follows its end');
}
