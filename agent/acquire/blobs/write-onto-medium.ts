import { FleetError, toFleetError } from '#bundles/errors';
import { refuseInside } from '#bundles/formats/medium/check-mounted';
import { removeFileFromMedium, writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';

/**
 * Writes one file onto a medium that is a directory, completely or not at all.
 * @param file its path on the medium @throws FleetError PERMISSION, DISK_FULL, IO, naming file and medium; MEDIUM_INVALID if
 *   the path leads out of the medium; USAGE for a folder of a medium (refuseInside)
 */
export const writeOntoMedium = async (medium: string, file: string, bytes: Uint8Array): Promise<void> => {
  refuseInside(medium);
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
    hint: 'Unlock the stick if it is locked or mounted read-only, or run this as a user who may write there',
  });
};
