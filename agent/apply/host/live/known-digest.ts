import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';

/**
 * Two changes within this time may leave the same timestamps: FAT counts in two seconds, the kernel in ticks. A file that changed more
 * recently than this is read again the next time.
 */
const SETTLED_MS = 5_000;
/** All bytes are read once a day regardless of the timestamps, because corruption on a failing disk does not change them. */
const TRUSTED_MS = 24 * 3_600_000;
/** Upper bound on remembered files, far above the number of large files of a host. */
const MAX_KNOWN = 1_000;

type Known = Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'> & {
  readonly digest: Digest;
  readonly until: number;
  /** For one look, as the file changed too recently for more. */
  readonly once?: true;
};

export type KnownDigests = {
  /** The digest of an open file. Reads the file only if it changed since the last reading; null if reading returned none. */
  readonly of: (file: FileHandle, read: () => Promise<Digest | null>) => Promise<Digest | null>;
  /** Keeps the digest of an open file, whose bytes the caller has verified after it wrote them, for one look. */
  readonly note: (file: FileHandle, digest: Digest) => Promise<void>;
};

/**
 * Caches digests of large files by inode, because a look at the host every few minutes must not read gigabytes. Relies on the inode's
 * change time (ctime), which users cannot set, unlike the modification time.
 * @param now milliseconds, of the clock that the kernel stamps files with
 */
export const knownDigests = (now: () => number): KnownDigests => {
  const known = new Map<string, Known>();
  const keep = (key: string, one: Known): void => {
    known.set(key, one);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
  };
  return {
    of: async (file, read) => {
      const before = await file.stat({ bigint: true });
      const key = keyOf(before);
      const found = known.get(key);
      const at = now();
      const isKnown =
        found && isSameStat(found, before) && at < found.until && at >= found.until - TRUSTED_MS;
      if (!isKnown || found.once) known.delete(key);
      if (isKnown) return found.digest;
      const digest = await read();
      const after = await file.stat({ bigint: true });
      const changed = Number(after.ctimeNs / 1_000_000n);
      // After the clock was set back, no age can be computed.
      if (digest !== null && isSameStat(before, after) && changed + SETTLED_MS < at)
        keep(keyOf(after), { ...stampOf(after), digest, until: at + TRUSTED_MS });
      return digest;
    },
    note: async (file, digest) => {
      const stats = await file.stat({ bigint: true });
      keep(keyOf(stats), { ...stampOf(stats), digest, until: now() + TRUSTED_MS, once: true });
    },
  };
};

const keyOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): string => `${dev}:${ino}`;

const stampOf = ({ size, mtimeNs, ctimeNs }: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>) => ({
  size,
  mtimeNs,
  ctimeNs,
});

const isSameStat = (
  a: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>,
  b: Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs'>,
): boolean => a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
