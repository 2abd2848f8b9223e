import { FleetError, toFleetError } from '../../errors.ts';

/** Runs `read` and adds the file to the error that it throws. */
export const namingFile = <T>(file: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    const { code, message, subject, hint, cause } = toFleetError(error);
    throw new FleetError(code, message, { subject, at: { file }, hint, cause });
  }
};
