import { type ErrorCode, isFleetError } from '#bundles/errors';

/** The code a promise is refused with; undefined when it is kept. Anything but a FleetError is a crash. */
export const refused = async (promise: Promise<unknown>): Promise<ErrorCode | undefined> => {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (isFleetError(error)) return error.code;
    throw error;
  }
};
