import { type FleetError, formatPlace } from '#bundles/errors';

/** A mistake in a line of the log: all that a command would have said, where it is and what to do included. */
export const faultFields = ({ code, message, subject, at, hint }: FleetError): Record<string, string> => ({
  code,
  ...(at && { at: formatPlace(at) }),
  ...(subject !== undefined && { subject }),
  why: message,
  ...(hint !== undefined && { hint }),
});
