import { formatError, toFleetError } from '#bundles/errors';

/** What a call is refused with, as a person reads it; '' when it is let through. */
export const told = (call: () => unknown): string => {
  try {
    call();
    return '';
  } catch (error) {
    return formatError(toFleetError(error));
  }
};

/** As `told`, of what does not answer at once. */
export const toldLater = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise;
    return '';
  } catch (error) {
    return formatError(toFleetError(error));
  }
};
