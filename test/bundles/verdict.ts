import { type ErrorCode, isFleetError } from '#bundles/errors';

/** The code it was refused with, 'ACCEPT' if it was not. Anything but a FleetError is a crash and thrown on. */
export const verdict = async (run: () => unknown): Promise<ErrorCode | 'ACCEPT'> => {
  try {
    await run();
    return 'ACCEPT';
  } catch (error) {
    if (isFleetError(error)) return error.code;
    throw error;
  }
};
