import { open } from 'node:fs/promises';

/** Writes a file that must not be there, to the device and not only to memory. */
export const writeSynced = async (path: string, content: AsyncIterable<Uint8Array>): Promise<void> => {
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
};
