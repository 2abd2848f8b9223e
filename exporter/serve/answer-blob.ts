import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Limit } from '#bundles/transport/publish/limit';
import { verified } from '#bundles/formats/layout/verified';
import { answerError } from './answers.ts';
import { drainAtMinRate, type MinRate } from './drain-at-min-rate.ts';
import { type ByteRange, parseRange } from './parse-range.ts';

export type BlobAnswering = {
  readonly blobs: BlobSource;
  readonly proven: Proven;
  /** Limits transfers by the client's address, because each one holds a file and buffers. */
  readonly limit: (client: string) => Limit;
  /** Minimum rate of a client. */
  readonly pace: MinRate;
  /** Receives errors of a transfer. Once the head is sent, closing the connection is the only way to report one. */
  readonly onBroken: (error: unknown) => void;
  readonly onBytes: (bytes: number) => void;
};

type Blob = { readonly digest: Digest; readonly size: number };

/** OCI distribution spec 1.1, "Pulling blobs", with ranges of RFC 9110. */
export const answerBlob = async (
  request: IncomingMessage,
  response: ServerResponse,
  blob: Blob,
  answering: BlobAnswering,
): Promise<void> => {
  const { digest, size } = blob;
  const range = parseRange(request.headers.range, size);
  const about = {
    'content-type': 'application/octet-stream',
    'docker-content-digest': digest,
    etag: `"${digest}"`,
    'accept-ranges': 'bytes',
    'cache-control': 'max-age=31536000, immutable',
  };
  if (range === 'unsatisfiable') {
    response.writeHead(416, { 'content-range': `bytes */${size}`, 'content-length': 0 }).end();
    return;
  }
  if (request.method === 'HEAD') {
    response.writeHead(200, { ...about, 'content-length': size }).end();
    return;
  }
  const head = range
    ? {
        ...about,
        'content-length': range.end - range.start + 1,
        'content-range': `bytes ${range.start}-${range.end}/${size}`,
      }
    : { ...about, 'content-length': size };
  const part = range ?? { start: 0, end: size - 1 };
  const client = request.socket.remoteAddress ?? '';
  await answering.limit(client)(() => transfer(request, response, blob, part, head, answering));
};

const transfer = async (
  request: IncomingMessage,
  response: ServerResponse,
  blob: Blob,
  range: ByteRange,
  head: Readonly<Record<string, string | number>>,
  { blobs, proven, pace, onBroken, onBytes }: BlobAnswering,
): Promise<void> => {
  const gone = new AbortController();
  const stop = (): void => gone.abort();
  if (response.destroyed) return;
  response.once('close', stop);
  const drained = drainAtMinRate(response, pace, gone.signal);
  try {
    for await (const piece of servedBytes(blobs, blob, range, proven, gone.signal)) {
      // Sent with the first byte, so that an earlier error becomes an error response.
      if (!response.headersSent) response.writeHead('content-range' in head ? 206 : 200, head);
      onBytes(piece.byteLength);
      if (!response.write(piece)) await drained('drain');
    }
    if (!response.headersSent) response.writeHead(200, head);
    response.end();
    // The transfer counts against the limit until the client has read the rest.
    if (!response.writableFinished) await drained('finish');
  } catch (error) {
    if (!gone.signal.aborted) onBroken(error);
    if (response.headersSent) response.destroy();
    else if (!response.destroyed)
      answerError(request, response, 500, 'UNKNOWN', 'the medium cannot be read here, or was changed');
  } finally {
    response.off('close', stop);
  }
};

/** Blobs that this process has read completely and verified. */
type Proven = Set<Digest>;

/**
 * Yields a range of a blob. The last piece follows only after the whole blob was read and its digest verified, so that a response
 * with a wrong byte never completes. A blob that was verified before is read only to the end of the range.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, TRUNCATED, MISSING_BLOB
 */
async function* servedBytes(
  blobs: BlobSource,
  { digest, size }: { readonly digest: Digest; readonly size: number },
  { start, end }: ByteRange,
  proven: Proven,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const isWhole = start === 0 && end === size - 1;
  const mayStop = !isWhole && proven.has(digest);
  let at = 0;
  let held: Uint8Array | undefined;
  for await (const piece of verified(digest, size, await blobs.open(digest, signal), blobs.name)) {
    const part = piece.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
    at += piece.byteLength;
    if (part.byteLength === 0) continue;
    if (held) yield held;
    held = part;
    if (mayStop && at > end) break;
  }
  if (!mayStop) proven.add(digest);
  if (held) yield held;
}
