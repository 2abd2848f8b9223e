import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { verified } from '#bundles/formats/layout/verified';
import type { ByteRange } from './parse-range.ts';

/** Blobs that this process has read completely and verified. */
export type Proven = Set<Digest>;

/**
 * Yields a range of a blob. The last piece follows only after the whole blob was read and its digest verified, so that a response
 * with a wrong byte never completes. A blob that was verified before is read only to the end of the range.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, TRUNCATED, MISSING_BLOB
 */
export async function* servedBytes(
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
