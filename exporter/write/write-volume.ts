import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { defined } from '#bundles/defined';
import { sum } from '#bundles/sum';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { readBlob } from '#bundles/formats/layout/verified';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { PARTS_FILE, PARTS_FOLDER, PROGRESS_FILE, RECEIPTS_FOLDER } from '#bundles/formats/medium/medium';
import { partPath, type VolumePart, type VolumeParts, shortSet } from '#bundles/formats/medium/parts/part';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import type { CutPart } from '../plan/set/cut-set.ts';
import { holds } from '../plan/medium/read-back.ts';
import { checkFreeSpace } from '../plan/medium/free-space.ts';
import { type SetLayout, volumeParts } from '../plan/set/set-layout.ts';
import { listBytes, readLists, SUMS_FILE, sumsOf } from '../plan/medium/volume-lists.ts';
import { removeDirectoryMedium } from './remove-directory-medium.ts';
import { removeParts } from './remove-set.ts';
import { sweepHalfParts, sweepStatus, sweepTemporary } from './sweep.ts';
import { syncFolders } from './sync-folders.ts';
import { writeChanged } from './write-changed.ts';
import type { WriteOptions, Written } from './write-options.ts';
import { type SetContent, writeSetPart } from './write-set-part.ts';
import { namesIn } from '#bundles/formats/medium/names-in';
import { removeFilesFromMedium } from '#bundles/formats/medium/write-onto-medium';

/**
 * Writes the parts of one volume of a set. Earlier content stays until fleet/parts.json names the new parts. Sealing is not deterministic,
 * so the digest of a part is recorded before the part gets its name, and a resumed run continues with the next part.
 * @param own the volume's parts @throws FleetError MEDIUM_INVALID for a foreign file, DISK_FULL, PERMISSION, IO, MISSING_BLOB,
 * DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const writeVolume = async (
  root: string,
  content: SetContent,
  own: readonly CutPart[],
  options: WriteOptions,
): Promise<Written> => {
  const { layout } = content;
  const { signal } = options;
  const { done: before, begun } = await readLists(root);
  const [partsBefore, partsBegun] = [before?.parts ?? [], begun?.parts ?? []];
  const paths = own.map(({ number }) => ({ path: partPath(layout.set, number, layout.sealed) }));
  // Remains of an unfinished run for another set are useless.
  let removed = await removeParts(root, partsBegun, [...paths, ...partsBefore]);
  const old = [...partsBefore.map(({ path }) => path), ...(begun?.replaced ?? [])].filter(
    (path) => !paths.some((one) => one.path === path),
  );
  const replaced = old.length === 0 ? undefined : [...new Set(old)];
  await prepareFolder(root);
  const finished = await findFinished(root, layout, own, [begun, before], options);
  const todo = own.filter(({ number }) => !finished.has(number));
  for (const part of todo) await checkFree(root, layout, part, [...partsBefore, ...partsBegun]);
  const total = sum(todo.map(({ size }) => size));
  await checkFreeSpace(root, total);
  options.lock?.begin();

  const listOf = (): VolumeParts => ({
    ...volumeParts(layout, [...finished.values()]),
    ...defined({ replaced }),
  });
  const progress = join(root, PROGRESS_FILE);
  const isPresent = todo.length === 0 && before?.set === layout.set && old.length === 0;
  if (!isPresent) await writeFileAtomically(progress, listBytes(listOf()));
  let written = 0;
  options.onPhase?.({ name: 'writing', total, passes: options.readBack ? 2 : 1 });
  for (const part of todo) {
    const path = partPath(layout.set, part.number, layout.sealed);
    const temporary = join(root, dirname(path), halfName(layout, part));
    const made = await make(temporary, content, part, options);
    finished.set(part.number, { number: part.number, path, ...made });
    await writeFileAtomically(progress, listBytes(listOf()));
    await renameSynced(temporary, join(root, path));
    written += made.size;
  }
  written += await writeReceipts(root, content, signal);
  // From here on the signal is ignored, because the medium is complete shortly.
  signal?.throwIfAborted();
  await options.lock?.check();
  const { replaced: _replaced, ...list } = listOf();
  written += await writeChanged(root, SUMS_FILE, sumsOf(list.parts));
  written += await writeChanged(root, PARTS_FILE, listBytes(list));
  removed += await removeEarlier(root, list, old);
  await rm(progress, { force: true });
  await sweepStatus(root);
  await syncFolders(root);
  return { written, removed };
};

/** Writes the receipts beside the parts. A receipt names its agent, so on a sealed volume it is only in the sealed parts. @returns bytes */
const writeReceipts = async (
  root: string,
  { layout, plan, source }: SetContent,
  signal: AbortSignal | undefined,
): Promise<number> => {
  let written = 0;
  for (const { path, digest, size, repository } of layout.sealed ? [] : plan.files)
    written += await writeChanged(root, path, await readBlob(source.blobs(repository), digest, size, signal));
  return written;
};

/** Removes what the volume held before. @param old paths of earlier parts @returns the number of files */
const removeEarlier = async (
  root: string,
  list: Omit<VolumeParts, 'replaced'>,
  old: readonly string[],
): Promise<number> => {
  const gone = old.map((path) => ({ path }));
  const parts = await removeParts(root, gone, list.parts);
  const folder = await removeDirectoryMedium(root);
  return parts + folder + (list.sealed ? await removePlainReceipts(root) : 0);
};

const prepareFolder = async (root: string): Promise<void> => {
  try {
    await createDirectory(join(root, PARTS_FOLDER));
  } catch (error) {
    throw toFleetError(error, `writing to ${root}`);
  }
  await sweepTemporary(root);
};

/** The temporary name of a part, the same in each run and recognisable as ours. */
const halfName = ({ set }: SetLayout, { number }: CutPart): string =>
  `.tmp-${shortSet(set).slice(0, 4)}${number.toString(16).padStart(4, '0')}`;

/** Returns the valid parts on this volume. A part that was recorded before the run was killed gets its final name. */
const findFinished = async (
  root: string,
  layout: SetLayout,
  own: readonly CutPart[],
  lists: readonly (VolumeParts | undefined)[],
  { signal, onPhase, onBytes }: WriteOptions,
): Promise<Map<number, VolumePart>> => {
  const recorded = lists.flatMap((list) =>
    // The recipients of a sealed file cannot be read from it; a set for other recipients is another set.
    list?.set === layout.set && list.sealed === layout.sealed && list.sealedTo === layout.sealedTo
      ? list.parts
      : [],
  );
  const finished = new Map<number, VolumePart>();
  const numbers = new Map(own.map((part) => [part.number, part]));
  onPhase?.({ name: 'checking what is there', total: recorded.reduce((total, { size }) => total + size, 0) });
  for (const one of recorded) {
    const part = numbers.get(one.number);
    if (!part || finished.has(one.number) || one.path !== partPath(layout.set, one.number, layout.sealed))
      continue;
    const half = join(root, PARTS_FOLDER, halfName(layout, part));
    if (await holds(join(root, one.path), one.size, one.digest, signal, onBytes))
      finished.set(one.number, one);
    else if (await holds(half, one.size, one.digest, signal)) {
      await renameSynced(half, join(root, one.path));
      finished.set(one.number, one);
    }
  }
  await sweepHalfParts(root);
  return finished;
};

/** Refuses an existing file with the name of a part that no list of ours names. @throws FleetError MEDIUM_INVALID */
const checkFree = async (
  root: string,
  layout: SetLayout,
  { number }: CutPart,
  ours: readonly VolumePart[],
): Promise<void> => {
  const path = partPath(layout.set, number, layout.sealed);
  if (ours.some((one) => one.path === path) || (await sizeOf(root, path)) === undefined) return;
  throw new FleetError('MEDIUM_INVALID', `${join(root, path)} exists and was not written by this program`, {
    hint: 'Move it to another folder, or use another medium; it was not changed',
  });
};

const make = async (
  temporary: string,
  content: SetContent,
  part: CutPart,
  options: WriteOptions,
): Promise<{ readonly size: number; readonly digest: VolumePart['digest'] }> => {
  const { readBack, onBytes, signal } = options;
  try {
    const made = await writeSetPart(content, part, temporary, options);
    if (!readBack || (await holds(temporary, made.size, made.digest, signal, onBytes))) return made;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw toFleetError(error, `writing part ${part.number} to ${dirname(temporary)}`);
  }
  await rm(temporary, { force: true });
  throw new FleetError(
    'IO',
    `${dirname(temporary)} returned other bytes than were written to it as part ${part.number}`,
    {
      hint: 'Do not use this medium; use another one',
    },
  );
};

/** Names that agentFolder produces. */
const RECEIPT_FILE = /^[0-9a-f]{32}\.sigstore\.json$/;

/**
 * Removes plain receipts of an earlier medium from a sealed volume, because they name site and agent. @returns the number of files
 */
const removePlainReceipts = async (root: string): Promise<number> => {
  const names = (await Array.fromAsync(namesIn(root, RECEIPTS_FOLDER))).filter((name) =>
    RECEIPT_FILE.test(name),
  );
  const paths = names.map((name) => `${RECEIPTS_FOLDER}/${name}`);
  await removeFilesFromMedium(root, paths).catch((error: unknown) => {
    throw toFleetError(error, `removing old receipts from ${root}`);
  });
  return names.length;
};
