import type { Stats } from 'node:fs';
import { FleetError } from '../../errors.ts';
import { IS_WINDOWS } from '../../is-windows.ts';

/** Read, write or execute by others, or write by the group. Read by the group is allowed: services get files that way. */
const EXPOSED = 0o027;
const GROUP_READ_ONLY = 0o040;

/**
 * Refuses an unencrypted key file that others can read or change. Pipes and sockets pass; the reader refuses a folder. On Windows the check
 * is skipped: file modes there do not reflect access rights.
 * @param otherwise advice for file systems without permissions
 * @throws FleetError PERMISSION
 */
export const checkPrivate = (
  stat: Stats,
  file: string,
  what: string,
  otherwise = 'encrypt the key with: fleet-scheduler keys protect',
): void => {
  if (IS_WINDOWS || !stat.isFile() || (stat.mode & EXPOSED & ~GROUP_READ_ONLY) === 0) return;
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
