import type { Document } from 'yaml';

/** Where the reader of common YAML is in a text. A part that it does not read to the end it gives up: then `at` means nothing. */
export type Cursor = {
  readonly text: string;
  readonly document: Document.Parsed;
  at: number;
  /** The last scalar was one without text; what comes before the next key may belong to it. */
  afterNothing: boolean;
};

/** Codes of characters: comparing numbers makes no texts. */
export const NEWLINE = 10;
export const SPACE = 32;
export const DOUBLE_QUOTE = 34;
export const HASH = 35;
export const SINGLE_QUOTE = 39;
export const COMMA = 44;
export const DASH = 45;
export const COLON = 58;
export const SQUARE = 91;
export const BACKSLASH = 92;
export const SQUARE_END = 93;
export const CURLY = 123;
export const PIPE = 124;
export const CURLY_END = 125;

/** Behind the spaces at a place. */
export const behindSpaces = (text: string, at: number): number => {
  let end = at;
  while (text.charCodeAt(end) === SPACE) end += 1;
  return end;
};

/** Is this the `-` of a list's item? */
export const isItem = (text: string, at: number): boolean =>
  text.charCodeAt(at) === DASH && text.charCodeAt(at + 1) === SPACE;

/** Nothing of a document any more: the end of the text, or the line `---`. */
export const isEnd = (text: string, at: number): boolean => at >= text.length || isDocumentStart(text, at);

export const isDocumentStart = (text: string, at: number): boolean =>
  text.charCodeAt(at) === DASH && text.startsWith('---\n', at);
