import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/layout/write-file';
import { leadsAway } from '#bundles/medium/plain-files';

/**
 * Writes one file onto a medium that is a directory, whole or not at all.
 * @param file its path on the medium @throws FleetError PERMISSION, DISK_FULL, IO that names file and medium; MEDIUM_INVALID
 * where it would be written elsewhere
 */
export const writeOntoMedium = async (medium: string, file: string, bytes: Uint8Array): Promise<void> => {
  // Whoever made the stick would choose where on this machine its agent writes.
  if (await leadsAway(medium, file)) {
    throw new FleetError('MEDIUM_INVALID', `a link on ${medium} leads ${file} to another place`, {
      hint: 'Nothing was written; use a stick that fleet-export has filled, or an empty one',
    });
  }
  try {
    await writeFileAtomically(join(medium, file), bytes);
  } catch (error) {
    throw notWritable(error, `writing ${file} onto ${medium}`);
  }
};

/** What keeps a person from writing onto a stick is mostly its lock. */
export const notWritable = (cause: unknown, doing: string): FleetError => {
  const error = toFleetError(cause, doing);
  if (error.code !== 'PERMISSION') return error;
  return new FleetError('PERMISSION', error.message, {
    cause,
    hint: 'Is the stick locked, or mounted read-only? Unlock it, or run this as a user who may write there',
  });
};
