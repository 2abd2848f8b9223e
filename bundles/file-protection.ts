import type { Stats } from 'node:fs';
import { IS_WINDOWS } from './is-windows.ts';

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** True if the owner is root or the user that this process runs as. */
export const isOwnedByUs = (uid: number): boolean => uid === 0 || uid === process.geteuid?.();

/** True if users other than root and the user and group of this process may write to it. Windows has access control lists, which Node.js does not show. */
export const isWritableByOthers = ({ mode, gid }: Pick<Stats, 'mode' | 'gid'>): boolean =>
  !IS_WINDOWS && ((mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITE) !== 0 && gid !== process.getegid?.()));

/**
 * True if no other user can replace our entries in this directory. In a sticky directory (/tmp) others can add entries and replace
 * only their own.
 */
export const isProtectedDirectory = (directory: Pick<Stats, 'uid' | 'gid' | 'mode'>): boolean =>
  isOwnedByUs(directory.uid) && (!isWritableByOthers(directory) || (directory.mode & STICKY) !== 0);
