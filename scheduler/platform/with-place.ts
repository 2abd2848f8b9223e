import { FleetError, type Place } from '#bundles/errors';

/** The line to repair: where a mistake has no place of its own, it is the one that asks for what went wrong. */
export const withPlace = (
  error: FleetError,
  at: Place | undefined,
  subject: string | undefined = error.subject,
): FleetError =>
  error.at || error.code === 'ABORTED'
    ? error
    : new FleetError(error.code, error.message, { subject, at, hint: error.hint, cause: error });
