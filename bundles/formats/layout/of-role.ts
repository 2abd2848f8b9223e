import type { Document } from './document.ts';

/** The documents of one role, in their order. */
export const ofRole = <Found extends Pick<Document, 'role'>>(
  documents: readonly Found[],
  role: string,
): readonly Found[] => documents.filter((document) => document.role === role);
