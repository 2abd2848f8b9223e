import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { type Contact, NO_CONTACT } from '../store/contact.ts';

/** State of the daemon for `status`. It need not survive a power cut, so writes are not synced. */
export type Note = { readonly registry: Contact; readonly hub: Contact };

const EMPTY: Note = { registry: NO_CONTACT, hub: NO_CONTACT };

const noteFile = (directory: string): string => join(directory, 'daemon.json');

/** Returns an empty note if no daemon ran, or if a power cut left a partial file. @throws FleetError on other read errors */
export const readNote = (directory: string): Note => {
  try {
    const note = JSON.parse(readFileSync(noteFile(directory), 'utf8')) as Partial<Note> | null;
    return { registry: { ...NO_CONTACT, ...note?.registry }, hub: { ...NO_CONTACT, ...note?.hub } };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY;
    throw toFleetError(error, `reading ${noteFile(directory)}`);
  }
};

/** Replaces the note by a rename, so that concurrent readers get a complete one. On a full disk the old note stays. */
export const writeNote = (directory: string, note: Note): void => {
  const file = noteFile(directory);
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // The note is informational; code that needs the disk reports its faults.
  }
};
