import { constants, createZstdDecompress } from 'node:zlib';
import { type ByteCursor, byteCursor } from '../archive/byte-cursor.ts';
import { FleetError } from '../errors.ts';
import { type GzipRecipe, gzipAgain } from './gzip-layer.ts';
import { MAX_STEPS, MAX_UNCOMPRESSED, WINDOW_LOG } from './limits.ts';
import { GZIP_HEADER_BYTES, MAGIC } from './patch-format.ts';
import { through } from './through.ts';
import { fromZigzag, MAX_VARINT_BYTES } from './varint.ts';

/** The old blob, or what is in it where it is a gzip file, at random access. */
export type OldContent = {
  readonly size: number;
  readonly read: (offset: number, length: number) => Promise<Uint8Array>;
};

const PIECE = 512 << 10;

/**
 * The new blob, piece by piece and NOT verified: whoever keeps it checks digest and size. Nothing that the patch says is
 * believed, and never more memory is taken than for zstd's window and a few pieces.
 * @param old is asked for with the form that the patch has @param mostSteps copies, each of which costs time of its own
 * @throws FleetError DELTA_INVALID for what is no patch, or is none of this old blob
 */
export async function* applyPatch(
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  old: OldContent,
  mostSteps = MAX_STEPS,
): AsyncGenerator<Uint8Array> {
  const params = { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG };
  const cursor = byteCursor(unpacked(patch, params));
  try {
    const recipe = await readHead(cursor);
    const content = readContent(cursor, old, mostSteps);
    yield* recipe ? gzipAgain(content, recipe) : content;
  } finally {
    await cursor.close();
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

const readHead = async (cursor: ByteCursor): Promise<GzipRecipe | undefined> => {
  if (!MAGIC.equals(await cursor.take(MAGIC.length))) throw invalid('it does not begin like one');
  const level = (await cursor.take(1))[0];
  if (level === undefined || level > 9) throw invalid('it names no level of zlib');
  if (level === 0) return undefined;
  const header = Buffer.from(await cursor.take(GZIP_HEADER_BYTES));
  return { header, level };
};

async function* readContent(
  cursor: ByteCursor,
  old: OldContent,
  mostSteps: number,
): AsyncGenerator<Uint8Array> {
  if ((await readVarint(cursor)) !== old.size) throw invalid('it was made of something else');
  const size = await readVarint(cursor);
  if (size > MAX_UNCOMPRESSED) throw invalid(`it would make more than ${MAX_UNCOMPRESSED} bytes`);
  let expected = 0;
  let steps = 0;
  for (let left = size; left > 0; ) {
    // A few hundred bytes of zstd could be hours of single bytes. Behind the last copy one step tells the rest.
    steps += 1;
    if (steps > mostSteps + 1) throw invalid(`it takes more than ${mostSteps} steps`);
    const told = await readVarint(cursor);
    if (told > left) throw invalid('it tells more than it announces');
    left -= told;
    for (let rest = told; rest > 0; ) {
      const piece = await cursor.some(Math.min(rest, PIECE));
      if (piece.byteLength === 0) throw invalid('it ends early');
      rest -= piece.byteLength;
      // A copy: zlib and the disk may still be at this one when the next is read.
      yield Buffer.from(piece);
    }
    const copied = await readVarint(cursor);
    if (copied > left || told + copied === 0) throw invalid('it copies more than it announces');
    left -= copied;
    expected += told;
    if (copied === 0) continue;
    const from = expected + fromZigzag(await readVarint(cursor));
    if (from < 0 || from + copied > old.size) throw invalid('it copies what is not there');
    for (let at = from; at < from + copied; at += PIECE)
      yield await old.read(at, Math.min(PIECE, from + copied - at));
    expected = from + copied;
  }
  if ((await cursor.take(1)).byteLength > 0) throw invalid('something follows its end');
}

const readVarint = async (cursor: ByteCursor): Promise<number> => {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
    const byte = (await cursor.take(1))[0];
    if (byte === undefined) throw invalid('it ends early');
    value += (byte & 127) * 128 ** index;
    if (byte < 128) return value;
  }
  throw invalid('a number in it has no end');
};

const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('DELTA_INVALID', `this is no patch for what is here: ${why}`, { cause });
