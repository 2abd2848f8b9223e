import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { FleetError, toFleetError } from '#bundles/errors';

/** Writes a private key that only its owner can read. @throws FleetError USAGE if the file exists */
export const writeKeyFile = async (file: string, pem: string): Promise<void> => {
  await writeNew(file, pem, 0o600);
  await chmod(file, 0o600);
};

/** Writes a new file and never overwrites one, because an overwritten key is lost. @throws FleetError USAGE if it exists */
export const writeNew = async (file: string, text: string | Uint8Array, mode = 0o644): Promise<void> => {
  await writeFile(file, text, { mode, flag: 'wx', flush: true }).catch(
    async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw exists(file);
      // A partial file on a full disk would make the next attempt fail.
      if (error.syscall !== 'open') await rm(file, { force: true });
      if (error.code === 'ENOENT')
        throw new FleetError('USAGE', `there is no folder for ${file}`, {
          hint: 'Make it, or give another name',
        });
      throw toFleetError(error, `writing ${file}`);
    },
  );
};

/** Checks that a file does not exist, before a person enters a password for it. @throws FleetError USAGE */
export const checkNew = (file: string): void => {
  if (existsSync(file)) throw exists(file);
};

const exists = (file: string): FleetError =>
  new FleetError('USAGE', `there is a file ${file} already`, {
    hint: 'It was not changed; choose another name, or move it away',
  });
