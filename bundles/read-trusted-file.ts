import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { checkWriters } from './check-writers.ts';

/**
 * The bytes of a file that decides what this program does.
 * @throws FleetError PERMISSION where others can change it; the system's error
 */
export const readTrustedFile = (file: string): Buffer => {
  const descriptor = openSync(file, 'r');
  try {
    checkWriters(fstatSync(descriptor), file);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
};
