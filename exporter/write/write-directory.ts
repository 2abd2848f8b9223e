import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { readBlob } from '#bundles/formats/layout/verified';
import { lookAt } from '#bundles/formats/medium/kind-of';
import type { Medium } from '#bundles/formats/medium/medium';
import type { Plan } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';
import { smallLacking } from '../plan/bytes-to-write.ts';
import { attributeError } from './attribute-error.ts';
import { holds } from '../plan/medium/read-back.ts';
import { checkFolderRoom } from '../plan/medium/folder-room.ts';
import { checkFreeSpace, largestFile } from '../plan/medium/free-space.ts';
import { metadataOf } from '../plan/metadata.ts';
import { type Part, partsOf } from '../plan/medium/part.ts';
import { splitBlobs } from '../plan/set/split-blobs.ts';
import { removeSet } from './remove-set.ts';
import { sweepStatus, sweepTemporary, sweepUnreferenced } from './sweep.ts';
import { syncFolders } from './sync-folders.ts';
import { writeBlob } from './write-blob.ts';
import { writeChanged } from './write-changed.ts';
import type { WriteOptions, Written } from './write-options.ts';

/**
 * Writes a medium into a folder, which at any time is the old medium or the new one. Blobs get their final names once verified, then
 * fleet/medium.json and index.json are replaced, and last the files that only the old medium needed are removed. After a power failure
 * another run continues; on a finished medium it changes nothing.
 * @throws FleetError DISK_FULL, PERMISSION, IO, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const writeDirectory = async (
  plan: Plan,
  source: Source,
  root: string,
  before: Medium | undefined,
  options: WriteOptions,
): Promise<Written> => {
  const { signal, onBytes } = options;
  await createDirectory(join(root, 'blobs/sha256')).catch((error: unknown) => {
    throw toFleetError(error, `writing to ${root}`);
  });
  const swept = await sweepTemporary(root);
  const limit = options.maxFileSize ?? (await largestFile(root));
  const chunks = await splitBlobs(source, plan.blobs, limit, options);
  const parts = plan.blobs.map((blob) => partsOf(blob, chunks));
  const missing = await findMissing(root, parts.flat(), options);
  const lackingParts = parts.flat().filter(({ path }) => missing.has(path));
  const lackingBytes = sum(lackingParts);
  const metadata = metadataOf(plan, chunks, before);
  const made = [metadata.marker, metadata.index, metadata.medium];
  await checkFreeSpace(root, [...lackingParts, ...(await smallLacking(root, made, plan.files))]);
  await checkFolderRoom(
    root,
    [...parts.flat(), ...plan.files].map(({ path }) => path),
  );
  options.lock?.begin();

  let written = await writeChanged(root, metadata.marker.path, metadata.marker.bytes);
  const lacking = plan.blobs.flatMap((blob, index) => {
    const own = parts[index] ?? [];
    return own.some(({ path }) => missing.has(path)) ? [{ blob, own }] : [];
  });
  options.onPhase?.({ name: 'writing', total: lackingBytes, passes: options.readBack ? 2 : 1 });
  const write = async ({ blob, own }: (typeof lacking)[number], stop: AbortSignal): Promise<void> => {
    const writer = { root, readBack: options.readBack, onBytes, signal: stop };
    await writeBlob(writer, source, blob, own, missing);
    written += sum(own.filter(({ path }) => missing.has(path)));
  };
  await inParallel(lacking, AT_ONCE, write, signal);
  for (const { path, digest, size, repository } of plan.files) {
    written += await writeChanged(root, path, await readBlob(source.blobs(repository), digest, size, signal));
    if (!options.readBack || (await holds(join(root, path), size, digest, signal))) continue;
    await attributeError(source, { digest, size, repository }, root, signal);
  }
  // From here on the signal is ignored, because the medium is complete shortly.
  signal?.throwIfAborted();
  await options.lock?.check();
  written += await writeChanged(root, metadata.medium.path, metadata.medium.bytes);
  written += await writeChanged(root, metadata.index.path, metadata.index.bytes);
  // Only now the new medium replaces an earlier set of parts.
  const parted = await removeSet(root);
  const removed =
    parted +
    (await sweepUnreferenced(root, new Set([...parts.flat(), ...plan.files].map(({ path }) => path))));
  await sweepStatus(root);
  await syncFolders(root);
  if (swept > 0 && options.readBack) await checkShared(root, parts.flat(), options);
  return { written, removed };
};

/**
 * Checks the written files again. On FAT, a medium pulled during a rename has the same blocks under two names; removing the temporary one
 * frees them, and another file may have got them. @throws FleetError IO
 */
const checkShared = async (root: string, parts: readonly Part[], options: WriteOptions): Promise<void> => {
  const [first] = await findMissing(root, parts, options);
  if (first === undefined) return;
  throw new FleetError(
    'IO',
    `${join(root, first)} changed after it was written: files on this medium share their blocks`,
    {
      hint: 'The file system was damaged when the medium was pulled earlier: format it and run this again, or use another one',
    },
  );
};

/** Returns the missing and damaged files. Each file is read, because a file of the right size may be damaged. */
const findMissing = async (
  root: string,
  parts: readonly Part[],
  { signal, onPhase, onBytes }: WriteOptions,
): Promise<ReadonlySet<string>> => {
  const missing = new Set<string>();
  const there: Part[] = [];
  for (const part of parts) {
    if (await mayHaveContent(join(root, part.path), part.size)) there.push(part);
    else missing.add(part.path);
  }
  if (there.length > 0) onPhase?.({ name: 'checking what is there', total: sum(there) });
  for (const { path, size, digest } of there)
    if (!(await holds(join(root, path), size, digest, signal, onBytes))) missing.add(path);
  return missing;
};

/** True if the file has the expected size. Errors are left to `holds`. */
const mayHaveContent = async (path: string, size: number): Promise<boolean> => {
  try {
    const found = await lookAt(path);
    return found?.kind === 'file' && found.size === size;
  } catch {
    return true;
  }
};

/** Concurrent writes, as many as Node has threads for files: while one file is read back, others are fetched. */
const AT_ONCE = 4;

const sum = (parts: readonly Part[]): number => parts.reduce((total, { size }) => total + size, 0);
