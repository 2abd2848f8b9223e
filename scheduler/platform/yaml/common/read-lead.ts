import type { Node } from 'yaml';
import { behindSpaces, type Cursor, HASH, isEnd, NEWLINE } from './cursor.ts';
import { lineEnd } from './read-scalar.ts';

/** Empty lines and comments before a key or an item. */
export type Lead = {
  /** What follows is no part of the collection any more: the cursor still is before the lead. */
  readonly ends: boolean;
  readonly comment: string;
  readonly spaceBefore: boolean;
};

const NOTHING: Lead = { ends: false, comment: '', spaceBefore: false };
const ENDS: Lead = { ...NOTHING, ends: true };

/**
 * What is between a value and what follows in a collection of this column; the cursor is at what follows, where that is
 * of the collection. @param bare comments are declined @returns undefined: whose that is has to be told by others
 */
export const readLead = (cursor: Cursor, indent: number, bare: boolean): Lead | undefined => {
  const { text } = cursor;
  let comment = '';
  let spaceBefore = false;
  let between = '';
  let inset = -1;
  let line = cursor.at;
  let ink = behindSpaces(text, line);
  for (;;) {
    const code = text.charCodeAt(ink);
    if (code === NEWLINE && ink === line) {
      if (comment === '') spaceBefore = true;
      else comment += '\n';
    } else if (code === HASH) {
      if (bare || (inset !== -1 && inset !== ink - line)) return undefined;
      inset = ink - line;
      comment += between + (text.slice(ink + 1, lineEnd(text, ink)) || ' ');
      between = '\n';
    } else break;
    line = lineEnd(text, ink) + 1;
    ink = behindSpaces(text, line);
  }
  const column = ink - line;
  if (ink >= text.length && column > 0) return undefined;
  const ends = column === 0 && isEnd(text, ink);
  const isNothing = comment === '' && !spaceBefore;
  // Comments at an end are the document's, or the last collection's.
  if (!isNothing && (cursor.afterNothing || (comment !== '' && (ends || inset !== column)))) return undefined;
  if (text.charCodeAt(ink) === NEWLINE || (!ends && column > indent)) return undefined;
  if (ends || column < indent) return ENDS;
  cursor.at = ink;
  return isNothing ? NOTHING : { ends: false, comment, spaceBefore };
};

export const setLead = (node: Node, { comment, spaceBefore }: Lead): void => {
  if (spaceBefore) node.spaceBefore = true;
  if (comment !== '') node.commentBefore = comment;
};
