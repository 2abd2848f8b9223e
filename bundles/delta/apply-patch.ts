import { constants, createZstdDecompress } from 'node:zlib';
import { FleetError } from '../errors.ts';
import { gather } from './gather.ts';
import { type GzipRecipe, gzipAgain } from './gzip-layer.ts';
import { MAX_STEPS, mostPacked, stepsOf, WINDOW_LOG } from './limits.ts';
import { oldRuns } from './old-runs.ts';
import type { OldContent } from './old-content.ts';
import { GZIP_HEADER_BYTES, MAGIC } from './patch-format.ts';
import { type PatchReader, patchReader } from './patch-reader.ts';
import { through } from './through.ts';
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
  const params = { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG };
  const reader = patchReader(unpacked(patch, params));
  try {
    const recipe = await readHead(reader);
    const content = await readSize(reader, old, recipe, size);
    const pieces = readContent(reader, old, content, Math.min(mostSteps, stepsOf(content)));
    yield* recipe ? gzipAgain(pieces, recipe) : pieces;
  } finally {
    await reader.close();
  }
}

async function* unpacked(
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  params: Record<number, number>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* through(patch, createZstdDecompress({ params }));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code?.startsWith('ZSTD_') || code === 'ERR_ZSTD' || code === 'Z_BUF_ERROR')
      throw invalid('zstd cannot unpack it', cause);
    throw cause;
  }
}

const readHead = async (cursor: PatchReader): Promise<GzipRecipe | undefined> => {
  if (!MAGIC.equals(await cursor.take(MAGIC.length))) throw invalid('it does not begin like one');
  const level = (await cursor.take(1))[0];
  if (level === undefined || level > 9) throw invalid('it names no level of zlib');
  if (level === 0) return undefined;
  const header = Buffer.from(await cursor.take(GZIP_HEADER_BYTES));
  return { header, level };
};

/** Of the new content. Before the first byte of it is made: nothing that cannot be the blob is worth any work. */
const readSize = async (
  reader: PatchReader,
  old: OldContent,
  recipe: GzipRecipe | undefined,
  blob: number | undefined,
): Promise<number> => {
  if ((await numberOf(reader)) !== old.size) throw invalid('it was made of something else');
  const size = await numberOf(reader);
  const most = mostPacked(recipe?.level ?? 0);
  if (size > most) throw invalid(`it would make more than ${most} bytes`);
  if (blob === undefined) return size;
  if (recipe ? size > blob * DEFLATE_MOST : size !== blob)
    throw invalid(`its ${size} bytes cannot be a blob of ${blob}`);
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
    if (steps > mostSteps + 1) throw invalid(`it takes more than ${mostSteps} steps`);
    const told = await numberOf(reader);
    if (told > left) throw invalid('it tells more than it announces');
    left -= told;
    for (let rest = told; rest > 0; ) {
      const piece = await reader.some(Math.min(rest, PIECE));
      if (piece.byteLength === 0) throw invalid('it ends early');
      rest -= piece.byteLength;
      if (!out.fits(piece)) yield out.take();
      out.add(piece);
    }
    const copied = await numberOf(reader);
    if (copied > left || told + copied === 0) throw invalid('it copies more than it announces');
    left -= copied;
    expected += told;
    if (copied === 0) continue;
    const from = expected + fromZigzag(await numberOf(reader));
    if (from < 0 || from + copied > old.size) throw invalid('it copies what is not there');
    for (let at = from; at < from + copied; at += PIECE) {
      const run = await runOf(at, Math.min(PIECE, from + copied - at));
      if (!out.fits(run)) yield out.take();
      out.add(run);
    }
    expected = from + copied;
  }
  if (size > 0) yield out.take();
  if ((await reader.take(1)).byteLength > 0) throw invalid('something follows its end');
}

const numberOf = async (reader: PatchReader): Promise<number> => {
  const read = await reader.number();
  if (read === 'ends') throw invalid('it ends early');
  if (read === 'endless') throw invalid('a number in it has no end');
  return read;
};

const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('DELTA_INVALID', `this is no patch for what is here: ${why}`, { cause });
