import { statfs } from 'node:fs/promises';

/**
 * The most disk space that a command takes at one moment, temporary files included: the free space of the file system, read twenty
 * times a second. Valid only while no other process writes.
 */
export const watchDisk = async (folder: string): Promise<{ readonly stop: () => number }> => {
  const free = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  };
  const before = await free();
  let least = before;
  const look = async (): Promise<void> => {
    least = Math.min(least, await free());
  };
  const timer = setInterval(() => void look(), 50);
  return {
    stop: () => {
      clearInterval(timer);
      return before - least;
    },
  };
};
