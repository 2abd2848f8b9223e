import { FleetError, toFleetError } from '#bundles/errors';

/**
 * Converts ENOENT for a file that existed a moment ago to an IO error, because the volume was removed. Returns other errors as they are.
 * @param doing context for an error that is not a FleetError
 */
export const explainGone = (error: unknown, doing?: string): FleetError => {
  const explained = toFleetError(error, doing);
  if (explained.code !== 'INTERNAL' || !isCausedByAbsence(error)) return explained;
  return new FleetError('IO', explained.message, {
    cause: error,
    hint: 'Check that the stick is plugged in and run this again: it continues where it stopped',
  });
};

const isCausedByAbsence = (error: unknown): boolean => {
  for (let one: unknown = error; one instanceof Error; one = one.cause)
    if ((one as NodeJS.ErrnoException).code === 'ENOENT') return true;
  return false;
};
