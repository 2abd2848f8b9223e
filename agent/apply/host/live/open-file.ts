import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errno } from '../host-error.ts';
import type { Folder } from './open-folder.ts';

export type OpenFile = AsyncDisposable & { readonly file: FileHandle; readonly stats: Stats };

/**
 * Opens a regular file of an open directory for reading; undefined for a link, pipe, device, socket or directory. O_NONBLOCK, because
 * the file may have been replaced by a pipe, and opening that would wait for a writer.
 * @throws the system's error, ENOENT among them
 */
export const openFile = async (folder: Pick<Folder, 'at'>, name: string): Promise<OpenFile | undefined> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(folder.at(name), flags).catch((error: unknown) => {
    // ELOOP: a link. ENXIO: a socket, or a device without a driver.
    if (['ELOOP', 'ENXIO', 'ENODEV'].includes(errno(error) ?? '')) return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    const stats = await file.stat();
    if (stats.isFile()) return { file, stats, [Symbol.asyncDispose]: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
};
