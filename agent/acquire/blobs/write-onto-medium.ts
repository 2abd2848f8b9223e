import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { removeFileFromMedium, writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';

/**
 * Writes one file onto a medium that is a directory, completely or not at all.
 * @param file its path on the medium @throws FleetError PERMISSION, DISK_FULL, IO, naming file and medium; MEDIUM_INVALID if
 *   the path leads out of the medium; USAGE for the folder `fleet` of a medium, where nobody would look for the file
 */
export const writeOntoMedium = async (medium: string, file: string, bytes: Uint8Array): Promise<void> => {
  const top = dirname(resolve(medium));
  if (resolve(medium) === join(top, dirname(MEDIUM_FILE)) && existsSync(join(top, MEDIUM_FILE)))
    throw new FleetError('USAGE', `${medium} is a folder of the medium ${top}`, {
      hint: 'Give the top folder of the medium',
    });
  try {
    await writeFileOntoMedium(medium, file, bytes);
  } catch (error) {
    throw notWritable(error, `writing ${file} onto ${medium}`);
  }
};

/** Removes one file of a medium that is a directory, if it is there. @throws FleetError as writeOntoMedium */
export const removeFromMedium = async (medium: string, file: string): Promise<void> => {
  try {
    await removeFileFromMedium(medium, file);
  } catch (error) {
    throw notWritable(error, `removing ${file} from ${medium}`);
  }
};

/** Adds a hint to PERMISSION, whose usual cause is the write protection of the medium. */
export const notWritable = (cause: unknown, doing: string): FleetError => {
  const error = toFleetError(cause, doing);
  if (error.code !== 'PERMISSION') return error;
  return new FleetError('PERMISSION', error.message, {
    cause,
    hint: 'Is the stick locked, or mounted read-only? Unlock it, or run this as a user who may write there',
  });
};
