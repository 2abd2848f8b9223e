import { promisify } from 'node:util';
import { constants, gunzipSync, gzip, gzipSync } from 'node:zlib';
import { FleetError } from '../../errors.ts';

/** 6, zlib's own default: on rendered YAML, level 9 takes four times the CPU and saves a tenth of the size. */
const LEVEL = 6;

const SETTINGS = {
  level: LEVEL,
  memLevel: 8,
  windowBits: 15,
  strategy: constants.Z_DEFAULT_STRATEGY,
  chunkSize: 256 * 1024,
} as const;

const compress = promisify<Uint8Array, typeof SETTINGS, Buffer>(gzip);

/** RFC 1952, section 2.3.1: "OS" is the tenth byte, 255 means unknown. */
const OS_BYTE = 9;
const OS_UNKNOWN = 255;

/**
 * Gzip with a fixed header (no name, time 0, OS unknown) and fixed settings.
 *
 * The header is constant. The deflate stream depends on the zlib that Node was built with (`process.versions.zlib`) and on
 * whether the processor has a CRC32 instruction (x86-64 with SSE 4.2, ARMv8 with CRC): the zlib in Node's own builds hashes
 * with it and then finds other matches. One Node release writes the same bytes on any processor with that instruction;
 * another zlib (a distribution's Node, a later release) may not. Comparisons across those use the digest of the
 * uncompressed bytes.
 */
export const gzipFixed = (bytes: Uint8Array): Buffer => {
  const packed = gzipSync(bytes, SETTINGS);
  packed[OS_BYTE] = OS_UNKNOWN;
  return packed;
};

/** As gzipFixed, on another thread. */
export const gzipOnThread = async (bytes: Uint8Array): Promise<Buffer> => {
  const packed = await compress(bytes, SETTINGS);
  packed[OS_BYTE] = OS_UNKNOWN;
  return packed;
};

/**
 * Returns the uncompressed bytes; holds at most `maxBytes` of them in memory.
 * @throws FleetError BOMB when there are more, TRUNCATED when the stream ends early, BAD_GZIP when it is not gzip or
 * its checksum is wrong, TRAILING when data follows it
 */
export const gunzipCapped = (bytes: Uint8Array, maxBytes: number): Buffer => {
  const { buffer, engine } = gunzip(bytes, maxBytes);
  if (buffer.length > maxBytes) throw bomb(maxBytes);
  // zlib stops at a zero byte after the stream without an error.
  if (engine.bytesWritten !== bytes.length) {
    throw new FleetError('TRAILING', `there is data behind the gzip stream, at byte ${engine.bytesWritten}`);
  }
  return buffer;
};

type Unzipped = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };

const gunzip = (bytes: Uint8Array, maxBytes: number): Unzipped => {
  try {
    // Node rejects a limit of 0. With `info` it also returns the engine, which its types omit.
    const options = { maxOutputLength: Math.max(1, maxBytes), info: true };
    return gunzipSync(bytes, options) as unknown as Unzipped;
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'ERR_BUFFER_TOO_LARGE') throw bomb(maxBytes, cause);
    if (code === 'Z_BUF_ERROR') throw new FleetError('TRUNCATED', 'the gzip stream ends early', { cause });
    if (code !== 'Z_DATA_ERROR') throw cause;
    throw new FleetError('BAD_GZIP', `the gzip stream is damaged: ${(cause as Error).message}`, { cause });
  }
};

const bomb = (maxBytes: number, cause?: unknown): FleetError =>
  new FleetError('BOMB', `the gzip stream unpacks to more than ${maxBytes} bytes`, { cause });
