import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errno } from '../host-error.ts';
import type { Folder } from './open-folder.ts';

export type OpenFile = AsyncDisposable & { readonly file: FileHandle; readonly stats: Stats };

/**
 * Opens a plain file of an open directory for reading; undefined for a link, pipe, device, socket or directory. The file may have been
 * replaced by a pipe since it was looked at: with O_NONBLOCK opening one does not wait for a writer.
 * @throws the system's error, ENOENT among them
 */
export const openFile = async (folder: Pick<Folder, 'at'>, name: string): Promise<OpenFile | undefined> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(folder.at(name), flags).catch((error: unknown) => {
    // Of a link, and of a socket or a device without a driver.
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
