import { createHash } from 'node:crypto';
import { type Digest, digestFromHex } from '#bundles/digest';
import { knownDigests } from './known-digest.ts';
import type { OpenFile } from './open-file.ts';
import { type Bounds, readUpTo } from './read-up-to.ts';

const SMALL = 1 << 20;

/** Kept in this process only: after a start every file is read once. */
const known = knownDigests(Date.now);

/**
 * Returns the digest of an open file, or null if it is larger than `maxBytes`. A larger file is not read, because a sparse file may
 * claim 14 TB; one that grows meanwhile is read up to the limit.
 * @throws FleetError ABORTED
 */
export const digestOfFile = async (
  { file, stats }: Pick<OpenFile, 'file' | 'stats'>,
  { maxBytes, signal }: Bounds,
): Promise<Digest | null> => {
  if (stats.size > maxBytes) return null;
  const read = async (): Promise<Digest | null> => {
    const hash = createHash('sha256');
    let size = 0;
    for await (const piece of readUpTo(file, { maxBytes: maxBytes + 1, signal }, stats.size)) {
      size += piece.length;
      hash.update(piece);
    }
    return size > maxBytes ? null : digestFromHex(hash.digest('hex'));
  };
  return await (stats.size <= SMALL ? read() : known.of(file, read));
};
