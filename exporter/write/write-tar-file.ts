import { rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BLOCK, MAX_SIZE } from '#bundles/formats/archive/tar-header';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { FleetError, toFleetError } from '#bundles/errors';
import { IS_WINDOWS } from '#bundles/is-windows';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { entrySize } from '../plan/allocate-parts.ts';
import type { Plan } from '../plan/plan.ts';
import { oneAhead } from '../source/one-ahead.ts';
import type { Source } from '../source/source.ts';
import { attributeError } from './attribute-error.ts';
import { checkBehindWriting } from './device/check-behind-writing.ts';
import { PAGE } from '../plan/medium/read-back.ts';
import { writeSynced } from './device/write-synced.ts';
import { checkFreeSpace, tooLargeFor } from '../plan/medium/free-space.ts';
import { findRight, mediumOfPartial, PARTIAL } from '../plan/medium/resume-tar.ts';
import { splitBlobs } from '../plan/set/split-blobs.ts';
import { planEntries } from '../plan/plan-entries.ts';
import { entriesFrom } from './entries-from.ts';
import { type TarSpan, tarSpans } from './tar-spans.ts';
import type { WriteOptions, Written } from './write-options.ts';

/**
 * Writes the medium as one deterministic tar, metadata first. The file has a temporary name beside the final one, is read back while it is
 * written, and is renamed once every byte is verified. A killed run leaves the old file, and the next run continues after the last
 * valid entry.
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
    await createDirectory(dirname(path));
    // A tar header limits sizes to 8 GiB; larger blobs are in pieces.
    const chunks = await splitBlobs(source, plan.blobs, MAX_SIZE, options);
    const entries = planEntries(plan, chunks, await mediumOfPartial(temporary));
    const right = await findRight(temporary, entries, options);
    const all = entries.reduce((total, { size }) => total + entrySize(size), 2 * BLOCK);
    const tooLarge = await tooLargeFor(dirname(path), all);
    if (tooLarge !== undefined) throw new FleetError('USAGE', tooLarge, { hint: FOLDER_HINT });
    await checkFreeSpace(dirname(path), all - right.offset);
    const blobs = entries.slice(right.entries).filter(({ blob }) => blob !== undefined);
    const total = blobs.reduce((sum, { size }) => sum + size, 0);
    options.onPhase?.({ name: 'writing', total, passes: options.readBack ? 2 : 1 });
    if (right.entries === 0) await rm(temporary, { force: true });
    await using ahead = oneAhead(
      source,
      blobs.flatMap(({ blob }) => blob ?? []),
    );
    const content = writeTar(entriesFrom(entries, right.entries, ahead.source, options));
    const from = right.offset;
    if (options.readBack) {
      const spans = tarSpans(temporary, entries).filter((span) => !isRead(span, from));
      const onBytes = (bytes: number, { blob, offset }: TarSpan): void => {
        if (blob !== undefined && offset >= from) options.onBytes(bytes);
      };
      await using check = checkBehindWriting(spans, { signal, onBytes });
      await writeSynced(temporary, content, { from, onSynced: check.reached });
      const wrong = await check.end();
      if (wrong) return await refuse(wrong, source, signal);
    } else {
      await writeSynced(temporary, content, { from });
    }
    const { size } = await stat(temporary);
    signal?.throwIfAborted();
    await options.lock?.check();
    if (IS_WINDOWS) await options.before?.[Symbol.asyncDispose]();
    await renameSynced(temporary, path);
    return { written: size - from, removed: 0 };
  } catch (cause) {
    const error = toFleetError(cause, `writing ${path}`);
    // Keeps the partial file after an abort or a full disk, and removes it after other errors.
    if (!error.retryable || error.code === 'IO') await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
};

/** True if the span was compared when the run resumed and lies on no page that is written again. */
const isRead = ({ blob, offset, size }: TarSpan, right: number): boolean =>
  blob !== undefined && offset + size <= right - (right % PAGE);

const FOLDER_HINT = 'Give the folder itself with --to, for a medium in files or, with --part-size, in parts';

/** Always throws: FleetError DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB for a damaged source, otherwise IO. */
const refuse = async (
  { blob, name, path }: TarSpan,
  source: Source,
  signal?: AbortSignal,
): Promise<never> => {
  if (blob) await attributeError(source, blob, path, signal);
  throw new FleetError('IO', `${path} returned another ${name} than was written to it`, {
    hint: 'Do not use this medium; use another one',
  });
};
