import { accessSync, constants, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { FleetError } from './errors.ts';
import { isProtectedDirectory, isOwnedByUs, isWritableByOthers } from './file-protection.ts';

/**
 * Refuses a file that decides what this program does when users other than root and its own can change or replace it, as ssh and sudo do.
 * A pipe has to be of one of these two; modes and folders count for regular files alone.
 * @param stat of the open file, so that what was checked is what is read
 * @throws FleetError PERMISSION
 */
export const checkWriters = (stat: Stats, file: string): void => {
  if (!isOwnedByUs(stat.uid))
    throw refusal(
      `this file belongs to user ${stat.uid}, who can change it`,
      file,
      `chown ${ownName()} on it`,
    );
  if (!stat.isFile()) return;
  if (isWritableByOthers(stat))
    throw refusal(`others can change this file (mode ${octal(stat.mode)})`, file, 'chmod go-w on it');
  for (const folder of foldersOf(file)) {
    const found = statSync(folder);
    if (isProtectedDirectory(found) || isReadOnly(folder)) continue;
    throw isOwnedByUs(found.uid)
      ? refusal(`others can replace this file: they can write to ${folder}`, file, `chmod go-w on ${folder}`)
      : refusal(
          `user ${found.uid} can replace this file, because the folder ${folder} belongs to them`,
          file,
          `chown ${ownName()} on ${folder}`,
        );
  }
};

/** Folders whose entries lead to the file: of its path as given, and of the file that links lead to. */
const foldersOf = (file: string): ReadonlySet<string> => {
  const folders = new Set<string>();
  for (const path of [resolve(file), realpathSync(file)])
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
  return folders;
};

/** A ConfigMap is mounted read-only in a folder of mode 0777. */
const isReadOnly = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
};

const ownName = (): string => (process.geteuid?.() === 0 ? 'root' : `root or ${process.geteuid?.()}`);

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0');

const refusal = (why: string, file: string, command: string): FleetError =>
  new FleetError('PERMISSION', why, {
    at: { file },
    hint: `It decides what this program does. Look who changed it, and run ${command}`,
  });
