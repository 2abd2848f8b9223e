import { FleetError } from '#bundles/errors';

/** Adds a hint to MISSING_BLOB: an incomplete medium has to be copied again. */
export const adviseCopy = (error: FleetError): FleetError => {
  const { code, message, subject, hint } = error;
  if (code !== 'MISSING_BLOB' || hint !== undefined) return error;
  return new FleetError(code, message, {
    subject,
    hint: 'The copy is not complete; copy it again',
    cause: error,
  });
};
