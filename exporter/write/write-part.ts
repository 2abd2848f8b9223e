import { createHash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { holds } from '../plan/medium/read-back.ts';
import { writeSynced } from './device/write-synced.ts';
import type { Part } from '../plan/medium/part.ts';

export type PartWriter = {
  readonly root: string;
  readonly readBack: boolean;
  readonly onBytes: (bytes: number) => void;
  readonly signal?: AbortSignal;
};

/**
 * Writes one file and gives it its final name once it is verified, by reading it back from the device or by hashing while writing.
 * Returns false and removes the file if it is wrong.
 * @throws FleetError DISK_FULL, PERMISSION, IO
 */
export const writePart = async (
  { root, readBack, onBytes, signal }: PartWriter,
  part: Part,
  content: AsyncIterable<Uint8Array>,
): Promise<boolean> => {
  const final = join(root, part.path);
  const folder = dirname(final);
  const temporary = join(folder, `.tmp-${randomUUID().slice(0, 8)}`);
  try {
    await createDirectory(folder);
    const bytes = counted(content, part.size, onBytes, signal);
    const write = readBack ? writeAndRead : writeHashed;
    const right = await write(temporary, part, bytes, signal, onBytes);
    if (right) await renameSynced(temporary, final);
    else await rm(temporary, { force: true });
    return right;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw toFleetError(error, `writing ${final}`);
  }
};

/** Stops at the announced size, so that a faulty source cannot fill the medium. */
async function* counted(
  content: AsyncIterable<Uint8Array>,
  size: number,
  onBytes: (bytes: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let left = size;
  for await (const chunk of content) {
    signal?.throwIfAborted();
    left -= chunk.byteLength;
    yield chunk;
    onBytes(chunk.byteLength);
    if (left < 0) return;
  }
}

const writeAndRead = async (
  path: string,
  { size, digest }: Part,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
  onBytes: (bytes: number) => void,
): Promise<boolean> => {
  await writeSynced(path, content);
  return await holds(path, size, digest, signal, onBytes);
};

const writeHashed = async (
  path: string,
  part: Part,
  content: AsyncIterable<Uint8Array>,
): Promise<boolean> => {
  const hash = createHash('sha256');
  let seen = 0;
  const hashed = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      seen += chunk.byteLength;
      hash.update(chunk);
      yield chunk;
    }
  };
  await writeSynced(path, hashed());
  return seen === part.size && `sha256:${hash.digest('hex')}` === part.digest;
};
