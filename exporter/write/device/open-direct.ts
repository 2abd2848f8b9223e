import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * A file that is there, past the page cache; undefined where that cannot be had, for whatever reason: who needs the file opens it as
 * usual, and hears what is wrong with it then.
 * @param flags as of open(2)
 */
export const openDirect = async (path: string, flags: number): Promise<FileHandle | undefined> => {
  const direct = (constants as { readonly O_DIRECT?: number }).O_DIRECT;
  return direct === undefined ? undefined : open(path, flags | direct).catch(() => undefined);
};

/** Some file systems take the flag and refuse reads or writes. */
export const isRefusal = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '');
