import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** Held for each reader that does not take its answer, and a second time in encrypted form. */
const CHUNK_BYTES = 32 << 10;

/**
 * For the hook onSend. TLS copies all that is written to it, so that a long answer, such as a file of the page, would be held once for each caller
 * that does not read it.
 * @returns a stream of a long answer, which is written as the caller reads it; any other answer as it is
 */
export const sendInChunks = (reply: FastifyReply, payload: unknown): unknown => {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  if (payload.length <= CHUNK_BYTES) return payload;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  void reply.header('content-length', bytes.byteLength);
  return Readable.from(chunksOf(bytes), { objectMode: false, highWaterMark: CHUNK_BYTES });
};

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.byteLength; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES);
}
