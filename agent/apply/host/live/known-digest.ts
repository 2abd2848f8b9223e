import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';

/**
 * A change that comes within this time of a file's last one may leave the same times behind: FAT counts in two seconds, the
 * kernel in ticks. What is younger when it is read is read again the next time.
 */
const SETTLED_MS = 5_000;
/** Once a day all bytes are read, whatever the times say: a disk that forgets changes none. */
const TRUSTED_MS = 24 * 3_600_000;
/** Far more than the large files of a host. */
const MAX_KNOWN = 1_000;

type Known = Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'> & {
  readonly digest: Digest;
  readonly until: number;
};

export type KnownDigests = {
  /** The digest of an open file, read anew unless nothing was done to it since it was read last; null where reading gave none. */
  readonly of: (file: FileHandle, read: () => Promise<Digest | null>) => Promise<Digest | null>;
};

/**
 * Remembers what large files were found to hold, by inode: a look at a host every few minutes must not read gigabytes. The change
 * time of an inode is the kernel's: nobody sets it back, not even who sets back the time of change.
 * @param now milliseconds, of the clock that the kernel stamps files with
 */
export const knownDigests = (now: () => number): KnownDigests => {
  const known = new Map<string, Known>();
  return {
    of: async (file, read) => {
      const before = await file.stat({ bigint: true });
      const key = `${before.dev}:${before.ino}`;
      const found = known.get(key);
      const at = now();
      if (found && isSame(found, before) && at < found.until && at >= found.until - TRUSTED_MS)
        return found.digest;
      known.delete(key);
      const digest = await read();
      const after = await file.stat({ bigint: true });
      const changed = Number(after.ctimeNs / 1_000_000n);
      // A clock that was set back says nothing about what is older.
      if (digest !== null && isSame(before, after) && changed + SETTLED_MS < at)
        known.set(key, { ...stampOf(after), digest, until: at + TRUSTED_MS });
      const [oldest] = known.keys();
      if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
      return digest;
    },
  };
};

const stampOf = ({ size, mtimeNs, ctimeNs }: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>) => ({
  size,
  mtimeNs,
  ctimeNs,
});

const isSame = (
  a: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>,
  b: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>,
): boolean => a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
