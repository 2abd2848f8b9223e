import { open } from 'node:fs/promises';

/** A name is on disk only when its folder is. Some file systems have no folders to sync, which is no error. */
export const syncDirectory = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
};
