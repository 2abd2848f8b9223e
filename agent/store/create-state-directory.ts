import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { FleetError } from '#bundles/errors';
import { folderError } from '#bundles/formats/layout/create-directory';

/**
 * Creates the state directory and what is above it, accessible to the agent's user only, one folder at a time as createDirectory
 * does. @throws FleetError IO, PERMISSION for a directory of another user; otherwise the system's error
 */
export const createStateDirectory = (path: string): void => {
  try {
    createAll(path);
  } catch (error) {
    throw folderError(path, error);
  }
  refuseOthers(path);
};

/** The owner of the directory can replace the database with what it trusts, and the agent installs as root what it trusts. */
const refuseOthers = (path: string): void => {
  if (process.geteuid?.() !== 0) return;
  const { uid } = statSync(path);
  if (uid === 0) return;
  throw new FleetError(
    'PERMISSION',
    `the state directory ${path} belongs to user ${uid}, who can replace what is in it`,
    { hint: `Name another one, or run chown root on it if nobody else has used it` },
  );
};

const createAll = (path: string): void => {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) createAll(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(path)) throw error;
  }
};

const isFolder = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
};
