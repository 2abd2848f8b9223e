import { statSync } from 'node:fs';

/**
 * '<device>:<inode>', or undefined if the file does not exist. SQLite goes on with a file that was removed or replaced: what it stores
 * then is lost with the process.
 */
export const fileId = (file: string): string | undefined => {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
};
