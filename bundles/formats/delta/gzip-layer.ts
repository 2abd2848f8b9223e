import { createDeflateRaw, constants, crc32, deflateRawSync } from 'node:zlib';
import { gunzipCapped } from '../archive/gzip.ts';
import { isFleetError } from '../../errors.ts';
import { MAX_UNCOMPRESSED } from './limits.ts';
import { pipeThrough } from './pipe-through.ts';

/** Settings that reproduce the bytes of a gzip file from its content, if zlib wrote it. */
export type GzipRecipe = { readonly header: Buffer; readonly level: number };

const MAGIC = 0x1f8b;
const FIXED_HEADER = 10;
/** RFC 1952 section 2.3.1: our headers, and most others, have only the fixed part. */
const FLAGS_BYTE = 3;
/** zlib's own default first. Level 0 packs nothing. */
const LEVELS = [6, 9, 1, 2, 3, 4, 5, 7, 8] as const;
/** Bytes of the content by which a level is first compared. Only the first half of their output is: the end of the stream changes the rest. */
const SAMPLE = 512 << 10;

const settings = (level: number) =>
  ({ level, memLevel: 8, windowBits: 15, strategy: constants.Z_DEFAULT_STRATEGY }) as const;

export const isGzip = (bytes: Buffer): boolean => bytes.length > 18 && bytes.readUInt16BE(0) === MAGIC;

/** Content of a gzip file; undefined when it is damaged or exceeds MAX_UNCOMPRESSED. */
export const contentOf = (bytes: Buffer): Buffer | undefined => {
  try {
    return gunzipCapped(bytes, MAX_UNCOMPRESSED);
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};

/**
 * Finds the settings with which zlib reproduces exactly these bytes: tries every level on a sample, then a matching one on all of
 * the content. Undefined when another program compressed it.
 */
export const findRecipe = (bytes: Buffer, content: Buffer): GzipRecipe | undefined => {
  if (bytes[FLAGS_BYTE] !== 0) return undefined;
  const header = bytes.subarray(0, FIXED_HEADER);
  const body = bytes.subarray(FIXED_HEADER, -8);
  const sample = content.subarray(0, SAMPLE);
  for (const level of LEVELS) {
    const packed = deflateRawSync(sample, settings(level));
    const sure = sample.length === content.length ? packed.length : Math.floor(packed.length / 2);
    if (!packed.subarray(0, sure).equals(body.subarray(0, sure))) continue;
    if (deflateRawSync(content, settings(level)).equals(body)) return { header, level };
  }
  return undefined;
};

/** Streams a gzip file: header, deflate stream, checksum and size. */
export async function* gzipAgain(
  content: AsyncIterable<Uint8Array>,
  { header, level }: GzipRecipe,
): AsyncGenerator<Uint8Array> {
  let sum = 0;
  let size = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      sum = crc32(chunk, sum);
      size += chunk.byteLength;
      yield chunk;
    }
  };
  yield header;
  yield* pipeThrough(counted(), createDeflateRaw(settings(level)));
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(sum, 0);
  trailer.writeUInt32LE(size % 2 ** 32, 4);
  yield trailer;
}
