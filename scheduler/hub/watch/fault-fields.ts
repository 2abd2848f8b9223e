import { defined } from '#bundles/defined';
import { type FleetError, formatPlace } from '#bundles/errors';

/** Log fields of an error: everything that a command would print, including place and hint. */
export const faultFields = ({ code, message, subject, at, hint }: FleetError): Record<string, string> =>
  defined({
    code,
    at: at ? formatPlace(at) : undefined,
    subject,
    why: message,
    hint,
  });
