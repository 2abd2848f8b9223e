import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { TEMPORARY, writeFileAtomically } from '#bundles/formats/layout/write-file';

const BLOBS = join('blobs', 'sha256');

/**
 * Copies an OCI layout that others may write to meanwhile: the index is read first and written last, and no blob that it names
 * is ever removed. Files that the copy has are not copied again, so that an interrupted copy resumes.
 * @throws FleetError PERMISSION, DISK_FULL, IO, ABORTED
 */
export const copyLayout = async (from: string, to: string, signal: AbortSignal): Promise<void> => {
  try {
    const top = await Promise.all(
      (await readdir(from, { withFileTypes: true }))
        .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
        .map(async ({ name }) => ({ name, bytes: await readFile(join(from, name)) })),
    );
    await mkdir(join(to, BLOBS), { recursive: true });
    for (const name of await readBlobNames(from)) {
      signal.throwIfAborted();
      if (!name.startsWith(TEMPORARY)) await copyBlob(join(from, BLOBS, name), join(to, BLOBS, name));
    }
    for (const { name, bytes } of top.toSorted(indexLast)) await writeFileAtomically(join(to, name), bytes);
  } catch (error) {
    throw toFleetError(error, `copying ${from}`);
  }
};

/** A layout without any release has no folder of blobs yet. */
const readBlobNames = async (layout: string): Promise<readonly string[]> =>
  readdir(join(layout, BLOBS)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

const copyBlob = async (from: string, to: string): Promise<void> => {
  const [source, copy] = [await stat(from), await stat(to).catch(() => undefined)];
  if (copy?.size !== source.size) await copyFile(from, to, constants.COPYFILE_FICLONE);
};

const INDEX = 'index.json';
const indexLast = (a: { readonly name: string }, b: { readonly name: string }): number =>
  Number(a.name === INDEX) - Number(b.name === INDEX);
