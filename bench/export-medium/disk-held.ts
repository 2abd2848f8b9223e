import { statfs } from 'node:fs/promises';

/**
 * The most that a command has on disk at one moment, temporary files too: free space of the file system, looked at twenty
 * times a second. Only of use where nobody else writes.
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
