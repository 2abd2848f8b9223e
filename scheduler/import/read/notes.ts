import { compareBytes } from '#bundles/digest';
import { isFleetError, type Place } from '#bundles/errors';
import type { Manifest, Note, NoteKind } from '../imported.ts';
import { kindOf } from './manifests.ts';

/** Collects notes; the same one about the same place is kept once, whatever cluster it was met on. */
export type NoteBook = {
  readonly all: () => readonly Note[];
  readonly add: (kind: NoteKind, at: Place, subject: string, text: NoteText) => void;
};

export type NoteText = { readonly what: string; readonly todo: string };

export const openNotes = (): NoteBook => {
  const found = new Map<string, Note>();
  return {
    all: () => [...found.values()].toSorted(byPlace),
    add: (kind, at, subject, text) => {
      const note = { kind, at, subject, ...text };
      found.set(JSON.stringify(note), note);
    },
  };
};

const byPlace = (a: Note, b: Note): number =>
  compareBytes(a.at.file, b.at.file) ||
  (a.at.line ?? 0) - (b.at.line ?? 0) ||
  compareBytes(a.subject, b.subject) ||
  compareBytes(a.what, b.what);

/** Errors that say nothing about the repository. Nothing is written then. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set([
  'ABORTED',
  'TOOL_MISSING',
  'DISK_FULL',
  'IO',
  'PERMISSION',
  'BUSY',
]);

/** A mistake of the repository is a note at its place. Other errors are thrown again. */
export const noteFailure = (error: unknown, at: Place, subject: string, notes: NoteBook): void => {
  if (!isFleetError(error) || OF_THE_MACHINE.has(error.code)) throw error;
  const place = error.at && !error.at.file.startsWith('.fleet-ferry-') ? error.at : at;
  notes.add('unmapped', place, subject, {
    what: error.message,
    todo: error.hint ?? 'Correct it and import again',
  });
};

/** Objects without a name are made anew by each apply of a tool that runs them as hooks; a package cannot have them. */
export const noteNameless = (
  nameless: readonly { readonly at: Place; readonly value: Manifest }[],
  notes: NoteBook,
): void => {
  for (const { at, value } of nameless)
    notes.add('unmapped', at, kindOf(value), {
      what: 'it has a generateName and no name',
      todo: 'Give it a name; fleet-ferry/hook: before or after runs a Job once for each version',
    });
};
