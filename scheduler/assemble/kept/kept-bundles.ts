import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, hexOf } from '#bundles/digest';
import { openRegularFile } from '#bundles/formats/archive/open-regular-file';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { type Channel, formatChannel } from '#bundles/names';
import { markUsed } from '../../load/sources/cache-use.ts';
import { KEPT_RESULTS, openEntries, pruneResults } from '../../load/sources/prune-cache.ts';

/**
 * Results of builds between runs, one file for each, in the folder `results` of the cache. A process that can write to the cache must not decide what
 * is signed, so that each file carries a code (HMAC-SHA256) by a secret of the bundle key, which the cache does not have: a file that somebody
 * else wrote, a damaged one and one of another version of the program are not used.
 */
export type KeptBundles = {
  /** @returns the result that was kept for these inputs; undefined if no file with a valid code has one */
  readonly find: (channel: Channel, inputs: Digest) => Promise<unknown>;
  /** Keeps a result. A cache that cannot be written to is no error: the next build makes the bundle again. */
  readonly keep: (channel: Channel, inputs: Digest, result: unknown) => Promise<void>;
};

/**
 * @param secret of the bundle key
 * @param program its digest
 */
export const openKeptBundles = (cacheDirectory: string, secret: Buffer, program: Digest): KeptBundles => {
  const folder = join(cacheDirectory, KEPT_RESULTS);
  const entries = openEntries(cacheDirectory);
  const codeOf = (name: string, text: string): Buffer =>
    createHmac('sha256', secret).update(`${program} ${name}\n${text}`).digest();
  return {
    find: async (channel, inputs) => {
      const name = nameOf(channel, inputs);
      const file = join(folder, name);
      if (!(await markUsed(cacheDirectory, file))) return undefined;
      const text = await readKept(file).catch(() => '');
      const [code, body] = [text.slice(0, CODE_LENGTH), text.slice(CODE_LENGTH + 1)];
      const isOurs = timingSafeEqual(sameLength(code), codeOf(name, body));
      return isOurs ? (JSON.parse(body) as unknown) : undefined;
    },
    keep: async (channel, inputs, result) => {
      const name = nameOf(channel, inputs);
      const draft = join(folder, `.draft-${randomUUID()}`);
      const body = JSON.stringify(result);
      try {
        await createDirectory(folder);
        await writeFile(draft, `${codeOf(name, body).toString('hex')}\n${body}`);
        await rename(draft, join(folder, name));
        await pruneResults(cacheDirectory, entries, name);
      } catch {
        await rm(draft, { force: true }).catch(() => undefined);
      }
    },
  };
};

/** A result has some 100 kB for 500 assignments. */
const MAX_BYTES = 64 << 20;

/** Reads a result; another process may have put a pipe, a device or a huge file there, which must not stop a build or fill its memory. */
const readKept = async (path: string): Promise<string> => {
  await using file = await openRegularFile(path, constants.O_NOFOLLOW);
  return (await file.stat()).size > MAX_BYTES ? '' : await file.readFile('utf8');
};

/** Hexadecimal digits of SHA-256. */
const CODE_LENGTH = 64;

const sameLength = (hex: string): Buffer => {
  const code = Buffer.from(hex, 'hex');
  return code.byteLength === CODE_LENGTH / 2 ? code : Buffer.alloc(CODE_LENGTH / 2);
};

const channelKey = (channel: Channel): string =>
  createHash('sha256').update(formatChannel(channel)).digest('hex').slice(0, 16);

const nameOf = (channel: Channel, inputs: Digest): string => `${channelKey(channel)}-${hexOf(inputs)}`;
