import { constants, statSync } from 'node:fs';
import { access, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type Digest, digestFromHex, hexOf } from '../../digest.ts';
import { toFleetError } from '../../errors.ts';
import { readSmallFile } from '../archive/read-small-file.ts';
import type { BlobStore } from './blobs.ts';
import { CHUNK } from './chunk-buffers.ts';
import { isOnLocalDisk } from './is-on-local-disk.ts';
import { readWhole } from './read-span.ts';
import { missingBlob, verified } from './verified.ts';
import { writeFileAtomically } from './write-file.ts';

/** `blobs/sha256/<hex>` under a folder (OCI image layout, "blobs"): layouts, media and the agent's store. */
export type BlobDirectory = BlobStore & {
  readonly path: (digest: Digest) => string;
  readonly list: () => Promise<Digest[]>;
  readonly remove: (digest: Digest) => Promise<void>;
};

type Disk = {
  /** @returns undefined for anything but a file */
  readonly size: (path: string) => Promise<number | undefined>;
  /** @returns undefined for a blob that is to be streamed @throws the system's error if the file cannot be opened */
  readonly readSmall: (path: string) => Promise<Buffer | undefined>;
};

const POOLED: Disk = {
  size: async (path) => {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  },
  readSmall: async (path) => {
    await access(path, constants.R_OK);
    return undefined;
  },
};

/** Without the thread pool: a build reads thousands of small files. */
const DIRECT: Disk = {
  size: async (path) => {
    await pause();
    const found = statSync(path);
    return found.isFile() ? found.size : undefined;
  },
  readSmall: async (path) => {
    await pause();
    return readSmallFile(path, CHUNK);
  },
};

/** Direct calls before the event loop gets a turn, so that a server can respond. With small blobs they take a millisecond or two. */
const PAUSE = 64;
let calls = 0;
const pause = async (): Promise<void> => {
  calls += 1;
  if (calls % PAUSE === 0) await setImmediate();
};

/** ENOTDIR: a component of the path is a file, so nothing is below it. */
const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * @param way 'direct': sizes and small blobs of a folder on a disk of this machine are read without the thread pool. A medium or a network share may
 * stop answering, which must not stop the process: it is read through the pool.
 */
export const openBlobDirectory = (
  root: string,
  name = root,
  way: 'direct' | 'pooled' = 'pooled',
): BlobDirectory => {
  const folder = join(root, 'blobs', 'sha256');
  const path = (digest: Digest): string => join(folder, hexOf(digest));
  let asked: ReturnType<typeof isOnLocalDisk> | undefined;
  const diskOf = async (): Promise<Disk> => {
    if (way !== 'direct') return POOLED;
    const isLocal = await (asked ??= isOnLocalDisk(folder));
    // The first write creates the folder.
    if (isLocal === undefined) asked = undefined;
    return isLocal ? DIRECT : POOLED;
  };
  const size = async (digest: Digest): Promise<number | undefined> => {
    try {
      return await (await diskOf()).size(path(digest));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw toFleetError(error, `looking for a blob in ${name}`);
    }
  };
  return {
    name,
    path,
    size,
    open: async (digest, signal) => {
      try {
        const content = await (await diskOf()).readSmall(path(digest));
        return content ? abortable(one(content), signal) : readWhole(path(digest), { signal });
      } catch (error) {
        if (isMissing(error)) throw missingBlob(digest, name);
        throw toFleetError(error, `reading from ${name}`);
      }
    },
    write: async (digest, bytes, content, signal) => {
      if ((await size(digest)) === bytes) {
        if (content instanceof Readable) discard(content);
        return;
      }
      const stream = content instanceof Uint8Array ? one(content) : content;
      try {
        signal?.throwIfAborted();
        const checked = verified(digest, bytes, abortable(stream, signal), name);
        await writeFileAtomically(path(digest), checked);
      } catch (error) {
        throw toFleetError(error, `writing to ${name}`);
      }
    },
    list: async () => {
      try {
        const names = await readdir(folder);
        return names.filter((entry) => /^[0-9a-f]{64}$/.test(entry)).map((hex) => digestFromHex(hex));
      } catch (error) {
        if (isMissing(error)) return [];
        throw toFleetError(error, `listing ${name}`);
      }
    },
    remove: async (digest) => rm(path(digest), { force: true }),
  };
};

/** A stream that is not read would keep its file open. Its file may fail to open afterwards, and an error without a listener ends the process. */
const discard = (stream: Readable): void => {
  stream.on('error', () => {});
  stream.destroy();
};

async function* abortable(
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
