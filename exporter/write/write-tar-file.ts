import { createHash } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { byteCursor } from '#bundles/archive/byte-cursor';
import { readTar } from '#bundles/archive/read-tar';
import { BLOCK, MAX_SIZE } from '#bundles/archive/tar-header';
import { writeTar } from '#bundles/archive/write-tar';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { syncDirectory } from '#bundles/layout/write-file';
import { formatBytes } from '#bundles/program/format-bytes';
import { entrySize } from '../plan/pack-parts.ts';
import type { Plan } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';
import { blame } from './blame.ts';
import { checkFreeSpace, largestFile } from './free-space.ts';
import { readBack } from './read-back.ts';
import { findRight, mediumOfPartial, PARTIAL } from './resume-tar.ts';
import { splitBlobs } from './split-blobs.ts';
import { entriesFrom, type PlannedEntry, planEntries } from './tar-entries.ts';
import type { WriteOptions, Written } from './write-options.ts';
import { writeSynced } from './write-synced.ts';

/**
 * The whole medium as one tar, the same bytes each time, metadata first. It grows under a temporary name beside the
 * final one and takes that when all of it was read back; a run that is killed leaves the old file, and the next one goes on
 * behind the last whole entry that is right.
 * @throws FleetError DISK_FULL, PERMISSION, IO, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const writeTarFile = async (
  plan: Plan,
  source: Source,
  path: string,
  options: WriteOptions,
): Promise<Written> => {
  const { signal } = options;
  const temporary = `${path}${PARTIAL}`;
  try {
    await makeDirectory(dirname(path));
    // A tar header counts to 8 GiB; larger blobs lie in pieces here, too.
    const chunks = await splitBlobs(source, plan.blobs, MAX_SIZE, options);
    const entries = planEntries(plan, chunks, await mediumOfPartial(temporary));
    const right = await findRight(temporary, entries, options);
    const all = entries.reduce((total, { size }) => total + entrySize(size), 2 * BLOCK);
    if (all > (await largestFile(dirname(path)))) throw tooLarge(path, all);
    await checkFreeSpace(dirname(path), all - right.offset);
    const blobs = entries.slice(right.entries).filter(({ blob }) => blob !== undefined);
    options.onPhase?.({ name: 'writing', total: blobs.reduce((total, { size }) => total + size, 0) });
    if (right.entries === 0) await rm(temporary, { force: true });
    const content = writeTar(entriesFrom(entries, right.entries, source, options));
    await writeSynced(temporary, content, { from: right.offset });
    if (options.readBack) await checkTar(entries, source, temporary, options);
    const { size } = await stat(temporary);
    signal?.throwIfAborted();
    await options.lock?.check();
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return { written: size - right.offset, removed: 0 };
  } catch (cause) {
    const error = toFleetError(cause, `writing ${path}`);
    // What was stopped or ran out of room is gone on with; what is wrong is not.
    if (!error.retryable || error.code === 'IO') await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
};

const tooLarge = (path: string, size: number): FleetError =>
  new FleetError('USAGE', `${dirname(path)} keeps no file of ${formatBytes(size)}: it is FAT32`, {
    hint: 'Give the folder itself with --to, for a medium in files or, with --part-size, in parts',
  });

/** Reads the archive as every importer will, from the device, each entry against the digest it must have. */
const checkTar = async (
  entries: readonly PlannedEntry[],
  source: Source,
  path: string,
  { onPhase, onBytes, signal }: WriteOptions,
): Promise<void> => {
  onPhase?.({ name: 'reading back', total: entries.reduce((total, { size }) => total + size, 0) });
  const expected = new Map(entries.map((entry) => [entry.path, entry]));
  const limits = { maxEntries: expected.size + 1 };
  for await (const item of readTar(byteCursor(readBack(path, signal)), limits)) {
    const found = expected.get(item.path);
    const hash = createHash('sha256');
    for await (const chunk of item.content) {
      hash.update(chunk);
      onBytes(chunk.byteLength);
    }
    if (found && found.digest === `sha256:${hash.digest('hex')}`) expected.delete(item.path);
  }
  const [wrong] = expected.values();
  if (!wrong) return;
  if (wrong.blob) await blame(source, wrong.blob, path, signal);
  throw new FleetError('IO', `${path} gave back another ${wrong.path} than was written to it`, {
    hint: 'Do not use this stick; take another one',
  });
};
