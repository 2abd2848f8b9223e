import { promisify } from 'node:util';
import { constants, gunzipSync, gzip, gzipSync } from 'node:zlib';
import { FleetError } from '../errors.ts';

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
 * What the bytes depend on, honestly: the header on nothing; the deflate stream on the zlib that Node was built with
 * (`process.versions.zlib`) and on whether the processor has a CRC32 instruction (x86-64 with SSE 4.2, ARMv8 with
 * CRC), because the zlib in Node's own builds hashes with it and then finds other matches. So one Node release on any
 * processor with that instruction writes the same bytes; another zlib (a distribution's Node, a later release) may
 * not. Whoever must compare across those compares the digest of the uncompressed bytes.
 */
export const gzipFixed = (bytes: Uint8Array): Buffer => {
  const packed = gzipSync(bytes, SETTINGS);
  packed[OS_BYTE] = OS_UNKNOWN;
  return packed;
};

/** The same bytes, made on another thread while this one does other things. */
export const gzipAside = async (bytes: Uint8Array): Promise<Buffer> => {
  const packed = await compress(bytes, SETTINGS);
  packed[OS_BYTE] = OS_UNKNOWN;
  return packed;
};

/**
 * The uncompressed bytes, never more than `maxBytes` of them in memory.
 * @throws FleetError BOMB when there are more, TRUNCATED when the stream ends early, BAD_GZIP when it is no gzip or
 * its check sum is wrong, TRAILING when something follows it
 */
export const gunzipCapped = (bytes: Uint8Array, maxBytes: number): Buffer => {
  const { buffer, engine } = gunzip(bytes, maxBytes);
  if (buffer.length > maxBytes) throw bomb(maxBytes);
  // zlib stops at a zero byte behind the stream and says nothing.
  if (engine.bytesWritten !== bytes.length) {
    throw new FleetError('TRAILING', `there is data behind the gzip stream, at byte ${engine.bytesWritten}`);
  }
  return buffer;
};

type Unzipped = { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };

const gunzip = (bytes: Uint8Array, maxBytes: number): Unzipped => {
  try {
    // Node takes no cap of 0. With `info` it returns the engine too, which its types do not say.
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
