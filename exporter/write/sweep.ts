import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isFleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { PARTS_FOLDER, RECEIPTS_FOLDER, STATUS_FILE } from '#bundles/formats/medium/medium';
import { removeFileFromMedium } from '#bundles/formats/medium/write-onto-medium';
import { OWN_FILES, TEMPORARY } from '../plan/medium/own-names.ts';

/** Removes partial files of a killed run and returns their number. Folders and links with such names are foreign and stay. */
export const sweepTemporary = async (root: string): Promise<number> => {
  let removed = 0;
  for (const folder of ['', 'fleet', RECEIPTS_FOLDER, ...OWN_FILES.map(([folder]) => folder)]) {
    for (const name of await list(join(root, folder))) {
      if (!TEMPORARY.test(name)) continue;
      await rm(join(root, folder, name), { force: true });
      removed += 1;
    }
  }
  return removed;
};

/** Removes partial files of killed runs. */
export const sweepHalfParts = async (root: string): Promise<void> => {
  const folder = join(root, PARTS_FOLDER);
  try {
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isFile() && TEMPORARY.test(entry.name)) await rm(join(folder, entry.name), { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `listing ${folder}`);
  }
};

/** Removes blobs and pieces that the medium no longer names and returns their number. Files with other names are foreign. */
export const sweepUnreferenced = async (root: string, keep: ReadonlySet<string>): Promise<number> => {
  let removed = 0;
  for (const [folder, pattern] of OWN_FILES) {
    for (const name of await list(join(root, folder))) {
      if (!pattern.test(name) || keep.has(`${folder}/${name}`)) continue;
      await rm(join(root, folder, name), { force: true });
      removed += 1;
    }
  }
  return removed;
};

/** Removes the sentence of an earlier visit, which a technician could take for that of the next one. A link or folder stays. */
export const sweepStatus = (root: string): Promise<void> =>
  removeFileFromMedium(root, STATUS_FILE).catch((error: unknown) => {
    if (!isFleetError(error, 'MEDIUM_INVALID'))
      throw toFleetError(error, `removing ${STATUS_FILE} from ${root}`);
  });

const list = async (folder: string): Promise<readonly string[]> => {
  const entries = await unlessMissing(readdir(folder, { withFileTypes: true }), `listing ${folder}`);
  return (entries ?? []).filter((entry) => entry.isFile()).map(({ name }) => name);
};
