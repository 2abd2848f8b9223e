import { FleetError, type Place } from '#bundles/errors';

/** The error with a place to correct: its own, or else the place that referred to what failed. */
export const withPlace = (
  error: FleetError,
  at: Place | undefined,
  subject: string | undefined = error.subject,
): FleetError =>
  error.at || error.code === 'ABORTED'
    ? error
    : new FleetError(error.code, error.message, { subject, at, hint: error.hint, cause: error });
