import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, link, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { TEMPORARY } from '#bundles/formats/layout/write-file';

/** Writes a private key that only its owner can read. @throws FleetError USAGE if the file exists */
export const writeKeyFile = (file: string, pem: string): Promise<void> => writeNew(file, pem, 0o600);

/**
 * Writes a new file and never overwrites one, because an overwritten key is lost. It has its whole content or does not exist, also
 * after a kill or a power cut: it is written under another name, synced, and linked to its own.
 * @throws FleetError USAGE if it exists; DISK_FULL, PERMISSION, IO
 */
export const writeNew = async (file: string, text: string | Uint8Array, mode = 0o644): Promise<void> => {
  const folder = dirname(file);
  const temporary = join(folder, `${TEMPORARY}${randomUUID().slice(0, 8)}`);
  try {
    await writeFile(temporary, text, { mode, flag: 'wx', flush: true });
    await chmod(temporary, mode);
    await putInPlace(temporary, file);
    await syncDirectory(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw exists(file);
    if (code === 'ENOENT')
      throw new FleetError('USAGE', `there is no folder for ${file}`, {
        hint: 'Create it, or give another name',
      });
    throw toFleetError(error, `writing ${file}`);
  } finally {
    await rm(temporary, { force: true }).catch(() => {});
  }
};

/** File systems without hard links, such as FAT, answer with these. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** @throws EEXIST if it exists; otherwise the system's error */
const putInPlace = async (temporary: string, file: string): Promise<void> => {
  try {
    await link(temporary, file);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    if (existsSync(file)) throw exists(file);
    await renameSynced(temporary, file);
  }
};

/** Checks that a file does not exist, before a person enters a password for it. @throws FleetError USAGE */
export const checkNew = (file: string): void => {
  if (existsSync(file)) throw exists(file);
};

const exists = (file: string): FleetError =>
  new FleetError('USAGE', `there is a file ${file} already`, {
    hint: 'It was not changed; choose another name, or move it away',
  });
