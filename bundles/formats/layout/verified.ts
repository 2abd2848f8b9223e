import { createHash, type Hash } from 'node:crypto';
import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { BlobSource, FoundBlob, WantedBlob } from './blobs.ts';
import { releaseBuffer } from './chunk-buffers.ts';

/**
 * Passes bytes through while hashing them. The digest is checked before the last chunk is passed on, because a reader that knows the
 * size stops after it. Reads no further than the expected size, so that a malicious source cannot fill the disk.
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
    if (chunk.byteLength === 0) continue;
    seen += chunk.byteLength;
    if (seen > size) throw wrongSize(digest, size, `more than ${size}`, from);
    hash.update(chunk);
    if (seen === size) checkDigest(hash, digest, from);
    yield chunk;
  }
  if (seen !== size) throw wrongSize(digest, size, String(seen), from);
  if (size === 0) checkDigest(hash, digest, from);
}

/** Reads content only to verify it. @throws FleetError SIZE_MISMATCH, DIGEST_MISMATCH */
export const verifyAll = async (
  { digest, size }: { readonly digest: Digest; readonly size: number },
  content: AsyncIterable<Uint8Array>,
  from: string,
  signal?: AbortSignal,
): Promise<void> => {
  for await (const chunk of verified(digest, size, content, from)) {
    signal?.throwIfAborted();
    releaseBuffer(chunk);
  }
};

const checkDigest = (hash: Hash, digest: Digest, from: string): void => {
  const actual: Digest = `sha256:${hash.digest('hex')}`;
  if (actual === digest) return;
  throw new FleetError(
    'DIGEST_MISMATCH',
    `blob ${shortDigest(digest)} in ${from} has other content: ${shortDigest(actual)}`,
    { subject: digest, hint: 'The copy is damaged or was changed; make it again' },
  );
};

/** Error for a blob whose size differs from the expected one. */
export const wrongSize = (digest: Digest, size: number, actual: string, from: string): FleetError =>
  new FleetError('SIZE_MISMATCH', `blob ${shortDigest(digest)} in ${from} has ${actual} bytes, not ${size}`, {
    subject: digest,
    hint: 'The copy is damaged or was cut short; make it again',
  });

/** Reads a whole small blob, verified. @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const readBlob = async (
  source: BlobSource,
  digest: Digest,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer> => {
  const bytes = await findBlob(source, digest, { maxBytes, signal });
  if (!bytes) throw missingBlob(digest, source.name);
  return bytes;
};

/** As readBlob, but undefined when it is missing. @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const findBlob = async (
  source: BlobSource,
  digest: Digest,
  wanted: WantedBlob,
): Promise<Buffer | undefined> => {
  const found = await askFor(source, digest, wanted);
  return found && readFound(found, source.name, digest, wanted);
};

/** Uses `get` of the source, or else `size` and `open`. */
export const askFor = async (
  source: BlobSource,
  digest: Digest,
  wanted: WantedBlob,
): Promise<FoundBlob | undefined> => {
  if (source.get) return source.get(digest, wanted);
  const size = await source.size(digest);
  if (size === undefined) return undefined;
  return { size, open: () => source.open(digest, wanted.signal), drop: async () => {} };
};

/** @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const readFound = async (
  { size, open, drop }: FoundBlob,
  name: string,
  digest: Digest,
  { maxBytes }: WantedBlob,
): Promise<Buffer> => {
  const tooLarge = (has: string): FleetError =>
    new FleetError(
      'TOO_LARGE',
      `blob ${shortDigest(digest)} in ${name} has ${has} bytes, at most ${maxBytes} are read`,
      { subject: digest },
    );
  if (size !== undefined && size > maxBytes) {
    await drop();
    throw tooLarge(String(size));
  }
  const content = await open();
  const chunks: Uint8Array[] = [];
  let seen = 0;
  for await (const chunk of size === undefined ? content : verified(digest, size, content, name)) {
    seen += chunk.byteLength;
    if (seen > maxBytes) throw tooLarge(`more than ${maxBytes}`);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  // Without a size the bytes could not be verified while they were read.
  if (size === undefined) await verifyAll({ digest, size: seen }, whole(bytes), name);
  return bytes;
};

async function* whole(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export const missingBlob = (digest: Digest, from: string): FleetError =>
  new FleetError('MISSING_BLOB', `blob ${shortDigest(digest)} is not in ${from}`, { subject: digest });
