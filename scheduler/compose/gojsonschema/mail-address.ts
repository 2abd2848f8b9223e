import { isIP } from 'node:net';

/** Go's net/mail.ParseAddress, as far as it tells an address from a text that is none. */

type Cursor = { readonly text: string; at: number };

/** Is the text one address of RFC 5322: `a@b.example`, `Name <a@b.example>`, or a group of one? */
export const isMailAddress = (text: string): boolean => {
  const cursor = { text, at: 0 };
  return readAddress(cursor, true) === 1 && skipComments(cursor) && isAtEnd(cursor);
};

const isAtEnd = ({ text, at }: Cursor): boolean => at >= text.length;
const peek = ({ text, at }: Cursor): string => text[at] ?? '';

const consume = (cursor: Cursor, character: string): boolean => {
  if (peek(cursor) !== character) return false;
  cursor.at += 1;
  return true;
};

const skipSpace = (cursor: Cursor): void => {
  while (/[ \t]/.test(peek(cursor))) cursor.at += 1;
};

/** How many addresses there are: one, or those of a group. @returns undefined where there is none */
const readAddress = (cursor: Cursor, mayBeGroup: boolean): number | undefined => {
  skipSpace(cursor);
  if (isAtEnd(cursor)) return undefined;
  if (readAddressSpec(cursor)) {
    skipSpace(cursor);
    return peek(cursor) !== '(' || readNameComment(cursor) ? 1 : undefined;
  }
  if (peek(cursor) !== '<' && !readPhrase(cursor)) return undefined;
  skipSpace(cursor);
  if (mayBeGroup && consume(cursor, ':')) return readGroup(cursor);
  return consume(cursor, '<') && readAddressSpec(cursor) && consume(cursor, '>') ? 1 : undefined;
};

const readGroup = (cursor: Cursor): number | undefined => {
  let count = 0;
  skipSpace(cursor);
  if (consume(cursor, ';')) return skipComments(cursor) ? count : undefined;
  for (;;) {
    skipSpace(cursor);
    const found = readAddress(cursor, false);
    if (found === undefined || !skipComments(cursor)) return undefined;
    count += found;
    if (consume(cursor, ';')) return skipComments(cursor) ? count : undefined;
    if (!consume(cursor, ',')) return undefined;
  }
};

/** Leaves the cursor where it was when there is none. */
const readAddressSpec = (cursor: Cursor): boolean => {
  const start = cursor.at;
  skipSpace(cursor);
  const local = peek(cursor) === '"' ? (readQuoted(cursor) ?? 0) > 0 : readDotAtom(cursor);
  if (local && consume(cursor, '@')) {
    skipSpace(cursor);
    if (peek(cursor) === '[' ? readDomainLiteral(cursor) : readDotAtom(cursor)) return true;
  }
  cursor.at = start;
  return false;
};

const isVisible = (character: string): boolean => character > ' ' && character !== '\x7f';
const isAtomText = (character: string): boolean =>
  isVisible(character) && !'()<>[]:;@\\,"'.includes(character);

/** @returns the text, which is empty where there is none */
const readAtom = (cursor: Cursor): string => {
  const start = cursor.at;
  while (!isAtEnd(cursor) && isAtomText(peek(cursor))) cursor.at += 1;
  return cursor.text.slice(start, cursor.at);
};

const readDotAtom = (cursor: Cursor): boolean => {
  const atom = readAtom(cursor);
  return atom !== '' && !atom.startsWith('.') && !atom.endsWith('.') && !atom.includes('..');
};

/** @returns how many characters stand between the quotes; undefined when they are not closed */
const readQuoted = (cursor: Cursor): number | undefined => {
  let length = 0;
  for (let at = cursor.at + 1; at < cursor.text.length; at += 1) {
    let character = cursor.text[at] as string;
    if (character === '"') {
      cursor.at = at + 1;
      return length;
    }
    if (character === '\\') {
      at += 1;
      character = cursor.text[at] ?? '';
    }
    if (!isVisible(character) && character !== ' ' && character !== '\t') return undefined;
    length += 1;
  }
  return undefined;
};

const readDomainLiteral = (cursor: Cursor): boolean => {
  const end = cursor.text.indexOf(']', cursor.at);
  const address = cursor.text.slice(cursor.at + 1, end);
  if (end === -1 || isIP(address) === 0 || address.includes('%')) return false;
  cursor.at = end + 1;
  return true;
};

/** The words of a name. Mistakes behind the first word end the name. */
const readPhrase = (cursor: Cursor): boolean => {
  let words = 0;
  // Encoded words are one word together, which counts when it ends.
  let encoded = false;
  for (;;) {
    if (words > 0 && !skipComments(cursor)) return false;
    skipSpace(cursor);
    if (isAtEnd(cursor)) return true;
    if (peek(cursor) === '"') {
      if (readQuoted(cursor) === undefined) break;
      words += 1;
      continue;
    }
    const atom = readAtom(cursor);
    const kind = atom === '' ? 'foreign' : encodingOf(atom);
    if (kind === 'foreign') break;
    if (kind === 'known') encoded ||= !atom.endsWith('???=');
    else words += 1;
  }
  return words > 0 || encoded;
};

const skipComments = (cursor: Cursor): boolean => {
  skipSpace(cursor);
  while (consume(cursor, '(')) {
    if (readComment(cursor) === undefined) return false;
    skipSpace(cursor);
  }
  return true;
};

/** The text up to the bracket that closes it. */
const readComment = (cursor: Cursor): string | undefined => {
  let comment = '';
  for (let depth = 1; !isAtEnd(cursor); cursor.at += 1) {
    const character = peek(cursor);
    if (character === '\\' && cursor.at + 1 < cursor.text.length) cursor.at += 1;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    if (depth === 0) {
      cursor.at += 1;
      return comment;
    }
    comment += peek(cursor);
  }
  return undefined;
};

/** A comment behind an address is a name: its words must be in a character set that Go knows. */
const readNameComment = (cursor: Cursor): boolean => {
  cursor.at += 1;
  return (
    readComment(cursor)
      ?.split(/[ \t]/)
      .every((word) => encodingOf(word) !== 'foreign') ?? false
  );
};

/** Of an encoded word (RFC 2047): is its character set known? What is no such word is plain. */
const encodingOf = (word: string): 'plain' | 'known' | 'foreign' => {
  const parts = /^=\?([^?]+)\?([BbQq])\?([^?]*)\?=$/.exec(word);
  if (!parts || word.length < 8) return 'plain';
  const [, charset = '', kind = '', text = ''] = parts;
  const decodes = /b/i.test(kind)
    ? /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
    : /^(?:[ -<>-~\n\r\t]|=[0-9A-Fa-f]{2})*$/;
  if (!decodes.test(text)) return 'plain';
  return /^(?:utf-8|iso-8859-1|us-ascii)$/i.test(charset) ? 'known' : 'foreign';
};
