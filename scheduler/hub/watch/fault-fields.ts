import { type FleetError, formatPlace } from '#bundles/errors';

/** Log fields of an error: everything that a command would print, including place and hint. */
export const faultFields = ({ code, message, subject, at, hint }: FleetError): Record<string, string> => ({
  code,
  ...(at && { at: formatPlace(at) }),
  ...(subject !== undefined && { subject }),
  why: message,
  ...(hint !== undefined && { hint }),
});
