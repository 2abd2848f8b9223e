import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { readSmallFile } from '#bundles/formats/archive/read-small-file';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { markUsed } from '../../load/sources/cache-use.ts';
import { KEPT_RESULTS, openEntries, pruneResults } from '../../load/sources/prune-cache.ts';

/**
 * Results of builds between runs, in the folder `results` of the cache. A process that can write to the cache must not decide what is
 * signed, so that each file carries a code (HMAC-SHA256) by a secret of the bundle key, which the cache does not have: a file that somebody
 * else wrote, a damaged one and one of another version of the program are not used.
 */
export type KeptFiles = {
  /** @returns the content of a file with a valid code */
  readonly read: (name: string) => Promise<Buffer | undefined>;
  /**
   * Keeps a content, and deletes the least recently used ones whose names begin with the same key, up to the first '-'. A cache that cannot be
   * written to is no error: the next build makes the result again.
   */
  readonly write: (name: string, content: Buffer) => Promise<void>;
};

/** Name of the one file of results of a kind. @param about what the run reads, as JSON */
export const keptName = (kind: 'manifests' | 'objects' | 'renderings', about: unknown): string =>
  `${kind}-${hexOf(digestOf(JSON.stringify(about)))}`;

/**
 * @param secret of the bundle key
 * @param program its digest
 */
export const openKeptFiles = (cacheDirectory: string, secret: Buffer, program: Digest): KeptFiles => {
  const folder = join(cacheDirectory, KEPT_RESULTS);
  const entries = openEntries(cacheDirectory);
  const codeOf = (name: string, content: Buffer): Buffer =>
    createHmac('sha256', secret).update(`${program} ${name}\n`).update(content).digest();
  return {
    read: async (name) => {
      const file = join(folder, name);
      if (!(await markUsed(cacheDirectory, file))) return undefined;
      const bytes = readKept(file);
      const content = bytes.subarray(CODE_LENGTH + 1);
      const isOurs = timingSafeEqual(asCode(bytes), codeOf(name, content));
      return isOurs ? content : undefined;
    },
    write: async (name, content) => {
      if (content.byteLength > MAX_BYTES - CODE_LENGTH - 1) return;
      const draft = join(folder, `.draft-${randomUUID()}`);
      try {
        await createDirectory(folder);
        await writeFile(draft, [`${codeOf(name, content).toString('hex')}\n`, content]);
        await rename(draft, join(folder, name));
        await pruneResults(cacheDirectory, entries, name);
      } catch {
        await rm(draft, { force: true }).catch(() => undefined);
      }
    },
  };
};

/** A bundle has some 100 kB for 500 assignments, the objects of a platform some 2 kB for each file. */
const MAX_BYTES = 64 << 20;

/**
 * Reads a result, directly, because a build reads one for each bundle. Another process may have put a pipe, a device or a huge file there, which
 * must not stop a build or fill its memory. @returns no bytes for what is no result
 */
const readKept = (path: string): Buffer => {
  try {
    return readSmallFile(path, MAX_BYTES, constants.O_NOFOLLOW) ?? Buffer.alloc(0);
  } catch {
    return Buffer.alloc(0);
  }
};

/** Hexadecimal digits of SHA-256. */
const CODE_LENGTH = 64;

const asCode = (bytes: Buffer): Buffer => {
  const code = Buffer.from(bytes.toString('latin1', 0, CODE_LENGTH), 'hex');
  return code.byteLength === CODE_LENGTH / 2 ? code : Buffer.alloc(CODE_LENGTH / 2);
};
