import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { byteCursor } from '#bundles/archive/byte-cursor';
import { readTar } from '#bundles/archive/read-tar';
import { MAX_SIZE } from '#bundles/archive/tar-header';
import { type TarEntry, writeTar } from '#bundles/archive/write-tar';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { readBlob, verified } from '#bundles/layout/verified';
import { syncDirectory } from '#bundles/layout/write-file';
import type { Chunked } from '#bundles/medium/medium';
import type { Plan, PlannedBlob } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';
import { blame } from './blame.ts';
import { checkFreeSpace } from './free-space.ts';
import { metadataOf } from './metadata.ts';
import { type Part, partsOf } from './part.ts';
import { readBack } from './read-back.ts';
import { splitBlobs } from './split-blobs.ts';
import type { WriteOptions, Written } from './write-options.ts';
import { writeSynced } from './write-synced.ts';

/**
 * The whole medium as one tar, the same bytes each time, metadata first. It grows under a temporary name beside the
 * final one and takes that when all of it was read back; a run that is killed leaves the old file.
 * @throws FleetError DISK_FULL, PERMISSION, IO, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const writeTarFile = async (
  plan: Plan,
  source: Source,
  path: string,
  options: WriteOptions,
): Promise<Written> => {
  const { signal } = options;
  const temporary = `${path}.partial`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await rm(temporary, { force: true });
    await checkFreeSpace(dirname(path), plan.carried);
    // A tar header counts to 8 GiB; larger blobs lie in pieces here, too.
    const chunks = await splitBlobs(source, plan.blobs, MAX_SIZE, signal);
    await writeSynced(temporary, writeTar(entriesOf(plan, source, chunks, options)));
    if (options.readBack) await checkTar(plan, source, chunks, temporary, signal);
    const { size } = await stat(temporary);
    signal?.throwIfAborted();
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return { written: size, removed: 0 };
  } catch (error) {
    await rm(temporary, { force: true });
    throw toFleetError(error, `writing ${path}`);
  }
};

async function* entriesOf(
  plan: Plan,
  source: Source,
  chunks: ReadonlyMap<Digest, Chunked>,
  options: WriteOptions,
): AsyncGenerator<TarEntry> {
  const { marker, index, medium } = metadataOf(plan, chunks);
  for (const { path, bytes } of [marker, index, medium])
    yield { path, size: bytes.byteLength, content: bytes };
  for (const { path, digest, size, repository } of plan.files)
    yield { path, size, content: await readBlob(source.blobs(repository), digest, size, options.signal) };
  for (const blob of plan.blobs) {
    const stream = countedBlob(source, blob, options);
    const cursor = byteCursor(stream);
    for (const { path, size } of partsOf(blob, chunks)) {
      const piece = async function* (): AsyncGenerator<Uint8Array> {
        for (let left = size; left > 0; ) {
          const chunk = await cursor.some(left);
          if (chunk.byteLength === 0) return;
          left -= chunk.byteLength;
          yield chunk;
        }
      };
      yield { path, size, content: piece() };
    }
    // Also sees whether the source has more than it announced, and, when hashed on the way, whether it was right.
    await cursor.some(1);
    await cursor.close();
  }
}

async function* countedBlob(
  source: Source,
  { digest, size, repository }: PlannedBlob,
  { readBack: later, onBytes, signal }: WriteOptions,
): AsyncGenerator<Uint8Array> {
  const content = source.stream(repository, digest, signal);
  for await (const chunk of later ? content : verified(digest, size, content, source.name)) {
    signal?.throwIfAborted();
    yield chunk;
    onBytes(chunk.byteLength);
  }
}

/** Reads the archive as every importer will, from the device, each entry against the digest it must have. */
const checkTar = async (
  plan: Plan,
  source: Source,
  chunks: ReadonlyMap<Digest, Chunked>,
  path: string,
  signal?: AbortSignal,
): Promise<void> => {
  const { marker, index, medium } = metadataOf(plan, chunks);
  const expected = new Map<string, { readonly part: Part; readonly blob: PlannedBlob | undefined }>();
  for (const { path: name, bytes } of [marker, index, medium])
    expected.set(name, {
      part: { path: name, size: bytes.byteLength, digest: digestOf(bytes) },
      blob: undefined,
    });
  for (const file of plan.files) expected.set(file.path, { part: file, blob: undefined });
  for (const blob of plan.blobs)
    for (const part of partsOf(blob, chunks)) expected.set(part.path, { part, blob });
  const limits = { maxEntries: expected.size + 1 };
  for await (const item of readTar(byteCursor(readBack(path, signal)), limits)) {
    const found = expected.get(item.path);
    const hash = createHash('sha256');
    for await (const chunk of item.content) hash.update(chunk);
    if (found && found.part.digest === `sha256:${hash.digest('hex')}`) expected.delete(item.path);
  }
  const [wrong] = expected.values();
  if (!wrong) return;
  if (wrong.blob) await blame(source, wrong.blob, path, signal);
  throw new FleetError('IO', `${path} gave back another ${wrong.part.path} than was written to it`, {
    hint: 'Do not use this stick; take another one',
  });
};
