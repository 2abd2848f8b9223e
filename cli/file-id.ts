import { statSync } from 'node:fs';

/**
 * '<device>:<inode>', or undefined if the file does not exist. SQLite keeps writing to a file that was removed or replaced; those writes are
 * lost when the process ends.
 */
export const fileId = (file: string): string | undefined => {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
};
