import { open } from 'node:fs/promises';
import { IS_WINDOWS } from '../../is-windows.ts';

/** Makes the names in a folder durable. File systems that cannot sync folders return EINVAL, which is ignored; Windows syncs none. */
export const syncDirectory = async (folder: string): Promise<void> => {
  if (IS_WINDOWS) return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
};
