import type { Stats } from 'node:fs';
import { FleetError } from '../errors.ts';

/** Read, write or enter by others, or write by the group: reading by the group is how services are given files. */
const EXPOSED = 0o027;
const GROUP_READ_ONLY = 0o040;

/**
 * Is what lies unprotected in a file its owner's alone? A pipe or a socket is nobody else's; a folder is refused by the
 * reader.
 * @param otherwise what to do where a file system knows no owners
 * @throws FleetError PERMISSION
 */
export const checkPrivate = (
  stat: Stats,
  file: string,
  what: string,
  otherwise = 'encrypt the key with: fleet-scheduler keys protect',
): void => {
  if (!stat.isFile() || (stat.mode & EXPOSED & ~GROUP_READ_ONLY) === 0) return;
  refuseExposed(stat, file, what, `Run chmod 600 on it; where a stick cannot do that, ${otherwise}`);
};

/** @throws FleetError PERMISSION */
export const refuseExposed = (stat: Pick<Stats, 'mode'>, file: string, what: string, hint: string): never => {
  throw new FleetError('PERMISSION', `${what} can be read or changed by others (mode ${octal(stat.mode)})`, {
    at: { file },
    hint,
  });
};

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');
