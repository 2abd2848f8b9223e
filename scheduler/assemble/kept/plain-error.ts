import { FleetError } from '#bundles/errors';

/** An error as it is kept. */
export type PlainError = Pick<FleetError, 'code' | 'message' | 'subject' | 'at' | 'hint'>;

export const toPlainError = ({ code, message, subject, at, hint }: FleetError): PlainError => ({
  code,
  message,
  subject,
  at,
  hint,
});

export const fromPlainError = ({ code, message, ...details }: PlainError): FleetError =>
  new FleetError(code, message, details);
