import { constants, createZstdDecompress } from 'node:zlib';
import { FleetError } from '../../errors.ts';
import type { GzipRecipe } from './gzip-layer.ts';
import { WINDOW_LOG } from './limits.ts';
import { GZIP_HEADER_BYTES, MAGIC } from './patch-format.ts';
import { type PatchReader, patchReader } from './patch-reader.ts';
import { pipeThrough } from './pipe-through.ts';

/** A patch with its header read: size of the old content, and compression of the new one. */
export type OpenPatch = {
  readonly reader: PatchReader;
  readonly recipe: GzipRecipe | undefined;
  /** Uncompressed size of the old content in bytes, as the patch states it. */
  readonly oldSize: number;
};

/** Reads only the header; the caller closes `reader`. @throws FleetError DELTA_INVALID */
export const openPatch = async (
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<OpenPatch> => {
  const params = { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG };
  const reader = patchReader(unpacked(patch, params));
  try {
    const recipe = await readRecipe(reader);
    return { reader, recipe, oldSize: await readNumber(reader) };
  } catch (error) {
    await reader.close();
    throw error;
  }
};

async function* unpacked(
  patch: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  params: Record<number, number>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeThrough(patch, createZstdDecompress({ params }));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code?.startsWith('ZSTD_') || code === 'ERR_ZSTD' || code === 'Z_BUF_ERROR')
      throw invalidPatch('zstd cannot unpack it', cause);
    throw cause;
  }
}

const readRecipe = async (reader: PatchReader): Promise<GzipRecipe | undefined> => {
  if (!MAGIC.equals(await reader.take(MAGIC.length))) throw invalidPatch('it does not begin like one');
  const level = (await reader.take(1))[0];
  if (level === undefined || level > 9) throw invalidPatch('its compression level is not one of zlib');
  if (level === 0) return undefined;
  const header = Buffer.from(await reader.take(GZIP_HEADER_BYTES));
  return { header, level };
};

export const readNumber = async (reader: PatchReader): Promise<number> => {
  const read = await reader.number();
  if (read === 'ends') throw invalidPatch('it ends early');
  if (read === 'endless') throw invalidPatch('a number in it is too long');
  return read;
};

export const invalidPatch = (why: string, cause?: unknown): FleetError =>
  new FleetError('DELTA_INVALID', `this is not a patch for the blob that is here: ${why}`, { cause });
