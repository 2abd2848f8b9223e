import { createHash } from 'node:crypto';
import { type Digest, digestFromHex } from '#bundles/digest';
import { knownDigests } from './known-digest.ts';
import type { OpenFile } from './open-file.ts';
import { type Bounds, readUpTo } from './read-up-to.ts';

const SMALL = 1 << 20;

/** Of this process: each starts with a full look. */
const known = knownDigests(Date.now);

/**
 * The digest of an open file; null where it has more than `maxBytes`, of which nothing is read: a file may claim 14 TB and take no
 * room at all. One that grows meanwhile is read up to the first byte too many.
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
