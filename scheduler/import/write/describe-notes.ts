import { formatPlace } from '#bundles/errors';
import type { Note, NoteKind } from '../imported.ts';

export const NOTE_TITLES: Readonly<Record<NoteKind, string>> = {
  unmapped: 'Not in this platform',
  decide: 'To decide before the first release',
  changed: 'Has another meaning here',
  told: 'Good to know',
};

export const noteLine = ({ at, subject, what, todo }: Note): string =>
  `${formatPlace(at)}: ${subject}: ${what}. ${todo}`;

/** IMPORT.md: what was not written, and what is left to do, each with file and line of the imported repository. */
export const describeNotes = (notes: readonly Note[], tool: string): string => {
  const parts = (Object.keys(NOTE_TITLES) as NoteKind[]).flatMap((kind) => {
    const own = notes.filter((note) => note.kind === kind);
    return own.length === 0
      ? []
      : [`## ${NOTE_TITLES[kind]}\n\n${own.map((note) => `- ${noteLine(note)}`).join('\n')}\n`];
  });
  return [
    `# Imported from ${tool}\n`,
    'Secrets are not copied in clear. Places are those of the imported repository.\n',
    ...(parts.length === 0 ? ['Everything was imported.\n'] : parts),
  ].join('\n');
};
