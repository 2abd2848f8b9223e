import { copyFile, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';

/**
 * Copies the files that several machines built, one for each architecture, into `out`; what it held is removed.
 * @throws FleetError DIGEST_MISMATCH if two folders have different files of one name
 */
export const joinFiles = async (folders: readonly string[], out: string): Promise<void> => {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const from = new Map<string, string>();
  for (const folder of folders)
    for (const name of (await readdir(folder)).toSorted()) {
      const [file, other] = [join(folder, name), from.get(name)];
      if (other !== undefined && !(await readFile(other)).equals(await readFile(file)))
        throw new FleetError('DIGEST_MISMATCH', `${file} has other bytes than ${other}.`, {
          hint: 'Build all architectures from one commit, with one SOURCE_DATE_EPOCH',
        });
      from.set(name, file);
      await copyFile(file, join(out, name));
    }
};
