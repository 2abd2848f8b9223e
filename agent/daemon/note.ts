import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { type Contact, NO_CONTACT } from './contact.ts';

/** What the daemon says of itself to `status`: nothing that must outlive a power cut, so no disk is waited for. */
export type Note = { readonly registry: Contact; readonly hub: Contact };

const EMPTY: Note = { registry: NO_CONTACT, hub: NO_CONTACT };

const noteFile = (directory: string): string => join(directory, 'daemon.json');

/** Empty where no daemon ran, or where a cut has left half a note. */
export const readNote = (directory: string): Note => {
  try {
    const note = JSON.parse(readFileSync(noteFile(directory), 'utf8')) as Partial<Note> | null;
    return { registry: { ...NO_CONTACT, ...note?.registry }, hub: { ...NO_CONTACT, ...note?.hub } };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY;
    throw toFleetError(error, `reading ${noteFile(directory)}`);
  }
};

/** Renamed into place: who reads beside us reads a whole one. A full disk keeps the old note. */
export const writeNote = (directory: string, note: Note): void => {
  const file = noteFile(directory);
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify(note)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // It only helps people to see; what is wrong with the disk is told by what needs it.
  }
};
