import { constants } from 'node:fs';
import { access, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Digest, digestFromHex, hexOf } from '../../digest.ts';
import { toFleetError } from '../../errors.ts';
import type { BlobStore } from './blobs.ts';
import { readWhole } from './read-span.ts';
import { missingBlob, verified } from './verified.ts';
import { writeFileAtomically } from './write-file.ts';

/** `blobs/sha256/<hex>` under a folder (OCI image layout, "blobs"): layouts, media and the agent's store. */
export type BlobDirectory = BlobStore & {
  readonly path: (digest: Digest) => string;
  readonly list: () => Promise<Digest[]>;
  readonly remove: (digest: Digest) => Promise<void>;
};

/** ENOTDIR: a component of the path is a file, so nothing is below it. */
const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

export const openBlobDirectory = (root: string, name = root): BlobDirectory => {
  const folder = join(root, 'blobs', 'sha256');
  const path = (digest: Digest): string => join(folder, hexOf(digest));
  const size = async (digest: Digest): Promise<number | undefined> => {
    try {
      const found = await stat(path(digest));
      return found.isFile() ? found.size : undefined;
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
        await access(path(digest), constants.R_OK);
      } catch (error) {
        if (isMissing(error)) throw missingBlob(digest, name);
        throw toFleetError(error, `reading from ${name}`);
      }
      return readWhole(path(digest), { signal });
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
