import { FleetError, toFleetError } from '#bundles/errors';

/**
 * A file that was found a moment ago and is not there when it is opened: somebody pulled the volume, whatever else it looks like.
 * Anything else is what it was. @param doing for what is no FleetError yet
 */
export const toldGone = (error: unknown, doing?: string): FleetError => {
  const told = toFleetError(error, doing);
  if (told.code !== 'INTERNAL' || !isCausedByAbsence(error)) return told;
  return new FleetError('IO', told.message, {
    cause: error,
    hint: 'Is the stick still plugged in? Run this again then: it goes on where it stopped',
  });
};

const isCausedByAbsence = (error: unknown): boolean => {
  for (let one: unknown = error; one instanceof Error; one = one.cause)
    if ((one as NodeJS.ErrnoException).code === 'ENOENT') return true;
  return false;
};
