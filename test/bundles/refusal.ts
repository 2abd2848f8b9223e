import { type ErrorCode, FleetError } from '#bundles/errors';

/** The code a call is refused with; undefined when it is let through. Anything but a FleetError is a crash. */
export const refusal = (call: () => unknown): ErrorCode | undefined => {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error.code;
    throw error;
  }
};

/** The error itself, where a test looks at its message and place. */
export const refusalOf = (call: () => unknown): FleetError => {
  try {
    call();
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error('it was let through');
};
