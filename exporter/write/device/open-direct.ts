import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * A file that is there, past the page cache; undefined where the system, or this file system, has no such thing.
 * @param flags as of open(2) @throws what the system says else
 */
export const openDirect = async (path: string, flags: number): Promise<FileHandle | undefined> => {
  const direct = (constants as { readonly O_DIRECT?: number }).O_DIRECT;
  if (direct === undefined) return undefined;
  try {
    return await open(path, flags | direct);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

/** Some file systems take the flag and refuse reads or writes. */
export const isRefusal = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '');
