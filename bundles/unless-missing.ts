import { toFleetError } from './errors.ts';

/**
 * Waits for the content of a file or folder; undefined if it does not exist.
 * @param doing for the message: 'reading /etc/fleet.yaml'
 * @throws FleetError PERMISSION, IO, USAGE as toFleetError; a FleetError of `reading` itself
 */
export const unlessMissing = async <T>(reading: Promise<T>, doing: string): Promise<T | undefined> => {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFleetError(error, doing);
  }
};
