import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { folderError } from '#bundles/formats/layout/make-directory';

/**
 * Creates the state directory and what is above it, accessible to the agent's user only, one folder at a time as makeDirectory
 * does. @throws FleetError IO; otherwise the system's error
 */
export const makeStateDirectory = (path: string): void => {
  try {
    makeAll(path);
  } catch (error) {
    throw folderError(path, error);
  }
};

const makeAll = (path: string): void => {
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeAll(above);
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
