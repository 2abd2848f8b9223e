import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { BLOCK, MAX_SIZE } from '#bundles/formats/archive/tar-header';
import { type Digest, digestOf } from '#bundles/digest';
import type { Chunked, Medium } from '#bundles/formats/medium/medium';
import type { Prepared } from './prepare.ts';
import { holds } from './medium/read-back.ts';
import { largestFile, type NeededFile } from './medium/free-space.ts';
import { type MetadataFile, metadataOf } from './metadata.ts';
import { chunkPath, partsOf } from './medium/part.ts';
import { findRight, mediumOfPartial, PARTIAL } from './medium/resume-tar.ts';
import { planEntries } from './plan-entries.ts';
import { hasContent } from './medium/has-content.ts';
import type { WorkOptions } from './work-options.ts';
import { entrySize } from './allocate-parts.ts';
import type { Plan, PlannedBlob, PlannedFile } from './plan.ts';

/** Bytes of all files of a medium: those that create would write, and those that are already there. */
export type BytesToWrite = { readonly toWrite: number; readonly there: number };

/**
 * Estimates the bytes that create would write to this single medium: blobs, table of contents and headers of the archive.
 * Existing files are recognised by their size; create also reads them, and writes more when some are damaged.
 */
export const bytesToWrite = async (
  { plan, target }: Pick<Prepared, 'plan' | 'target'>,
  maxFileSize: number | undefined,
  options: Pick<WorkOptions, 'signal'>,
): Promise<BytesToWrite> =>
  target.form === 'tar'
    ? ofTar(plan, target.path, options)
    : ofDirectory(plan, target.path, target.before?.medium, maxFileSize);

const ofDirectory = async (
  plan: Plan,
  root: string,
  before: Medium | undefined,
  maxFileSize: number | undefined,
): Promise<BytesToWrite> => {
  const { parts, small } = await contentOf(plan, root, before, maxFileSize);
  const toWrite = sum(await lackingOf(root, parts, small, plan.files));
  const all = sum(parts) + (await filesToWrite(undefined, small, plan.files));
  return { toWrite, there: all - toWrite };
};

/** Files that create would write into a directory, as bytesToWrite counts them. */
export const filesLacking = async (
  plan: Plan,
  root: string,
  before: Medium | undefined,
  maxFileSize: number | undefined,
): Promise<readonly NeededFile[]> => {
  const { parts, small } = await contentOf(plan, root, before, maxFileSize);
  return await lackingOf(root, parts, small, plan.files);
};

const contentOf = async (
  plan: Plan,
  root: string,
  before: Medium | undefined,
  maxFileSize: number | undefined,
): Promise<{ readonly parts: readonly NeededFile[]; readonly small: readonly MetadataFile[] }> => {
  const chunks = piecesBySize(plan.blobs, maxFileSize ?? (await largestFile(root)), before);
  const { marker, index, medium } = metadataOf(plan, chunks, before);
  return {
    parts: plan.blobs.flatMap((blob) => partsOf(blob, chunks)),
    small: [marker, index, medium],
  };
};

const lackingOf = async (
  root: string,
  parts: readonly NeededFile[],
  small: readonly MetadataFile[],
  files: readonly PlannedFile[],
): Promise<readonly NeededFile[]> => {
  const lacking: NeededFile[] = [];
  for (const { path, size } of parts)
    if ((await sizeAt(join(root, path))) !== size) lacking.push({ path, size });
  return [...lacking, ...(await smallLacking(root, small, files))];
};

const sum = (files: readonly NeededFile[]): number => files.reduce((total, { size }) => total + size, 0);

const ofTar = async (
  plan: Plan,
  path: string,
  { signal }: Pick<WorkOptions, 'signal'>,
): Promise<BytesToWrite> => {
  const partial = `${path}${PARTIAL}`;
  const before = await mediumOfPartial(partial);
  const entries = planEntries(plan, piecesBySize(plan.blobs, MAX_SIZE, before), before);
  const all = entries.reduce((total, { size }) => total + entrySize(size), 2 * BLOCK);
  const options = defined({ readBack: false, onBytes: () => {}, signal });
  const { offset } = await findRight(partial, entries, options);
  return { toWrite: all - offset, there: offset };
};

/** Bytes of small files that are missing or differ. @param root undefined for an empty medium */
export const filesToWrite = async (
  root: string | undefined,
  made: readonly MetadataFile[],
  files: readonly PlannedFile[],
): Promise<number> => sum(await smallLacking(root, made, files));

/** Small files that are missing or differ. @param root undefined for an empty medium */
export const smallLacking = async (
  root: string | undefined,
  made: readonly MetadataFile[],
  files: readonly PlannedFile[],
): Promise<readonly NeededFile[]> => {
  const lacking: NeededFile[] = [];
  for (const { path, bytes } of made)
    if (root === undefined || !(await hasContent(root, path, bytes)))
      lacking.push({ path, size: bytes.byteLength });
  for (const { path, size, digest } of files)
    if (root === undefined || !(await holds(join(root, path), size, digest))) lacking.push({ path, size });
  return lacking;
};

const sizeAt = (path: string): Promise<number | undefined> =>
  stat(path).then(
    ({ size }) => size,
    () => undefined,
  );

/** Pieces by size. Their digests come from the existing medium if it has the same pieces; otherwise they are placeholders. */
const piecesBySize = (
  blobs: readonly PlannedBlob[],
  most: number,
  before: Medium | undefined,
): ReadonlyMap<Digest, Chunked> => {
  const known = new Map(before?.chunks.map((chunk) => [chunk.digest, chunk]));
  return new Map(
    blobs
      .filter(({ size }) => size > most)
      .map(({ digest, size }): readonly [Digest, Chunked] => {
        const files = Array.from({ length: Math.ceil(size / most) }, (_, at) => ({
          path: chunkPath(digest, at),
          size: Math.min(most, size - at * most),
          digest: digestOf(''),
        }));
        const there = known.get(digest);
        const isSameCut =
          there?.files.map((file) => file.size).join() === files.map((file) => file.size).join();
        return [digest, there && isSameCut ? there : { digest, size, files }];
      }),
  );
};
