import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first program of this name in PATH and the system's own folders, which a user's PATH often lacks. */
export const findProgram = (name: string, env: NodeJS.ProcessEnv = process.env): string | undefined => {
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram);
};

/** Is this path a file that may be run? */
export const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};
