import { FleetError, toFleetError } from '../errors.ts';

/** What is wrong with a file says which file. */
export const namingFile = <T>(file: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    const { code, message, subject, hint, cause } = toFleetError(error);
    throw new FleetError(code, message, { subject, at: { file }, hint, cause });
  }
};
