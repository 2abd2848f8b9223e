import { createZstdCompress, constants } from 'node:zlib';
import { findCopies } from './find-copies.ts';
import { contentOf, findRecipe, type GzipRecipe, isGzip } from './gzip-layer.ts';
import { MAX_PATCH_BYTES, MAX_UNCOMPRESSED, maxPackedBytes, WINDOW_LOG } from './limits.ts';
import { MAGIC } from './patch-format.ts';
import { pipeThrough } from './pipe-through.ts';
import { encodeVarint, toZigzag } from './varint.ts';

/** Form in which a patch takes blobs: as they are, or as the content of gzip files. */
export type Form = 'plain' | 'gzip';

export type Patch = { readonly form: Form; readonly bytes: Buffer };

const LEVEL = 9;

/** Bytes of one write to the compressor: single steps have a few bytes each. */
const PIECE = 256 << 10;

/**
 * Makes the patch from the old blob to the new one (docs/bundle-format.md section 10). Holds both, their content, and a quarter of
 * the old content in memory.
 * @param most limit of the patch in bytes
 * @returns undefined when there is no useful patch: too large, not compressed by zlib, or too little in common
 */
export const createPatch = async (old: Buffer, fresh: Buffer, most: number): Promise<Patch | undefined> => {
  const unpacked = isGzip(old) && isGzip(fresh) ? unpack(old, fresh) : undefined;
  if (!unpacked && isGzip(fresh)) return undefined;
  const form: Form = unpacked ? 'gzip' : 'plain';
  const [from, to] = unpacked ? [unpacked.old, unpacked.fresh] : [old, fresh];
  if (from.length > MAX_UNCOMPRESSED || to.length > maxPackedBytes(unpacked?.recipe.level ?? 0))
    return undefined;
  const params = {
    [constants.ZSTD_c_compressionLevel]: LEVEL,
    [constants.ZSTD_c_windowLog]: WINDOW_LOG,
    [constants.ZSTD_c_checksumFlag]: 1,
  };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of pipeThrough(
    inPieces(encode(from, to, unpacked?.recipe)),
    createZstdCompress({ params }),
  )) {
    size += chunk.byteLength;
    if (size > Math.min(most, MAX_PATCH_BYTES)) return undefined;
    chunks.push(chunk);
  }
  return { form, bytes: Buffer.concat(chunks) };
};

const unpack = (
  old: Buffer,
  fresh: Buffer,
): { readonly old: Buffer; readonly fresh: Buffer; readonly recipe: GzipRecipe } | undefined => {
  const content = contentOf(fresh);
  const recipe = content && findRecipe(fresh, content);
  const before = recipe && contentOf(old);
  return content && recipe && before ? { old: before, fresh: content, recipe } : undefined;
};

function* encode(old: Buffer, fresh: Buffer, recipe: GzipRecipe | undefined): Generator<Uint8Array> {
  yield MAGIC;
  yield recipe ? Buffer.concat([Buffer.from([recipe.level]), recipe.header]) : Buffer.from([0]);
  yield encodeVarint(old.length);
  yield encodeVarint(fresh.length);
  let expected = 0;
  for (const { at, literal, copied, from } of findCopies(old, fresh)) {
    yield encodeVarint(literal);
    if (literal > 0) yield fresh.subarray(at, at + literal);
    yield encodeVarint(copied);
    expected += literal;
    if (copied > 0) yield encodeVarint(toZigzag(from - expected));
    expected = from + copied;
  }
}

function* inPieces(chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
  let gathered: Uint8Array[] = [];
  let size = 0;
  for (const chunk of chunks) {
    gathered.push(chunk);
    size += chunk.byteLength;
    if (size < PIECE) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(gathered);
}
