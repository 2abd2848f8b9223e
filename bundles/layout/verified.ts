import { createHash } from 'node:crypto';
import { type Digest, shortDigest } from '../digest.ts';
import { FleetError } from '../errors.ts';
import type { BlobSource } from './blobs.ts';

/**
 * Passes bytes through while hashing them; the last step throws if they were not the ones announced. Reads no further
 * than the announced size, so that a lying source cannot fill a disk.
 * @throws FleetError SIZE_MISMATCH, DIGEST_MISMATCH
 */
export async function* verified(
  digest: Digest,
  size: number,
  content: AsyncIterable<Uint8Array>,
  from: string,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let seen = 0;
  for await (const chunk of content) {
    seen += chunk.byteLength;
    if (seen > size) throw wrongSize(digest, size, `more than ${size}`, from);
    hash.update(chunk);
    yield chunk;
  }
  if (seen !== size) throw wrongSize(digest, size, String(seen), from);
  const actual: Digest = `sha256:${hash.digest('hex')}`;
  if (actual !== digest) {
    throw new FleetError(
      'DIGEST_MISMATCH',
      `blob ${shortDigest(digest)} in ${from} has other content: ${shortDigest(actual)}`,
      {
        subject: digest,
        hint: 'The copy is damaged or was changed; make it again',
      },
    );
  }
}

const wrongSize = (digest: Digest, size: number, actual: string, from: string): FleetError =>
  new FleetError('SIZE_MISMATCH', `blob ${shortDigest(digest)} in ${from} has ${actual} bytes, not ${size}`, {
    subject: digest,
    hint: 'The copy is damaged or was cut short; make it again',
  });

/** A whole small blob, verified. @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const readBlob = async (
  source: BlobSource,
  digest: Digest,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer> => {
  const size = await source.size(digest);
  if (size === undefined) throw missingBlob(digest, source.name);
  if (size > maxBytes) {
    throw new FleetError(
      'TOO_LARGE',
      `blob ${shortDigest(digest)} in ${source.name} has ${size} bytes, at most ${maxBytes} are read`,
      {
        subject: digest,
      },
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of verified(digest, size, await source.open(digest, signal), source.name))
    chunks.push(chunk);
  return Buffer.concat(chunks);
};

export const missingBlob = (digest: Digest, from: string): FleetError =>
  new FleetError('MISSING_BLOB', `blob ${shortDigest(digest)} is not in ${from}`, { subject: digest });
