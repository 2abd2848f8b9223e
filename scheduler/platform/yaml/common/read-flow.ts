import { Pair, type Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { CommonNode } from './common-node.ts';
import {
  behindSpaces,
  COLON,
  COMMA,
  CURLY,
  CURLY_END,
  type Cursor,
  DOUBLE_QUOTE,
  NEWLINE,
  SINGLE_QUOTE,
  SPACE,
  SQUARE,
  SQUARE_END,
} from './cursor.ts';
import { plainScalar, readQuoted } from './read-scalar.ts';

type Collection = YAMLMap.Parsed | YAMLSeq.Parsed;

/**
 * A mapping in braces or a list in brackets, as JSON is written; the cursor is behind it.
 * @param owner the indentation of what it is a value of: its lines are further in @param deep collections it is in
 */
export const readFlow = (cursor: Cursor, owner: number, deep = 0): Collection | undefined => {
  const { text, document } = cursor;
  const start = cursor.at;
  const isMap = text.charCodeAt(start) === CURLY;
  const close = isMap ? CURLY_END : SQUARE_END;
  const made = (isMap ? new YAMLMap(document.schema) : new YAMLSeq(document.schema)) as Collection;
  made.flow = true;
  if (deep > MAX_DEPTH) return undefined;
  cursor.at = start + 1;
  let closed = text.charCodeAt(cursor.at) === close;
  while (!closed) {
    if (!skipSpace(cursor, owner + 1)) return undefined;
    const key = isMap ? readKey(cursor) : undefined;
    if (isMap && !key) return undefined;
    const value = readValue(cursor, owner, deep);
    if (!value) return undefined;
    if (key) made.items.push(new Pair(key, value) as never);
    else made.items.push(value as never);
    if (text.charCodeAt(cursor.at) === COMMA) {
      cursor.at += 1;
      continue;
    }
    if (text.charCodeAt(cursor.at) === NEWLINE) {
      // The line ends the value; the spaces before the bracket do too in a list.
      const behind = behindSpaces(text, cursor.at + 1);
      value.range[2] = isMap ? cursor.at + 1 : behind;
      if (behind - cursor.at - 1 < owner + (deep === 0 ? 0 : 1)) return undefined;
      cursor.at = behind;
    }
    if (text.charCodeAt(cursor.at) !== close) return undefined;
    closed = true;
  }
  cursor.at += 1;
  made.range = [start, cursor.at, cursor.at];
  return made;
};

const MAX_DEPTH = 50;

/** Spaces, or the next line as far as it is indented. @returns false: there is more between the two */
const skipSpace = (cursor: Cursor, least: number): boolean => {
  const { text } = cursor;
  let at = behindSpaces(text, cursor.at);
  if (text.charCodeAt(at) === NEWLINE) {
    if (at > cursor.at) return false;
    at = behindSpaces(text, at + 1);
    if (at - cursor.at - 1 < least) return false;
  }
  cursor.at = at;
  return true;
};

/** With its colon and the spaces behind it. */
const readKey = (cursor: Cursor): Scalar.Parsed | undefined => {
  const { text, at } = cursor;
  const quoted = isQuote(text.charCodeAt(at));
  let key: Scalar.Parsed | undefined;
  if (quoted) key = readQuoted(cursor);
  else {
    PLAIN_KEY.lastIndex = at;
    const source = PLAIN_KEY.exec(text)?.[0];
    if (source === undefined) return undefined;
    key = plainScalar(cursor, source, at);
    cursor.at = at + source.length;
  }
  if (!key || cursor.at - at > MAX_KEY || text.charCodeAt(cursor.at) !== COLON) return undefined;
  cursor.at += 1;
  if (!quoted && text.charCodeAt(cursor.at) !== SPACE) return undefined;
  cursor.at = behindSpaces(text, cursor.at);
  return key;
};

/** Longer ones are mistakes. */
const MAX_KEY = 1000;

const readValue = (cursor: Cursor, owner: number, deep: number): CommonNode | undefined => {
  const { text, at } = cursor;
  const code = text.charCodeAt(at);
  if (code === CURLY || code === SQUARE) return readFlow(cursor, owner, deep + 1);
  if (isQuote(code)) return readQuoted(cursor);
  PLAIN_VALUE.lastIndex = at;
  const source = PLAIN_VALUE.exec(text)?.[0];
  if (source === undefined) return undefined;
  cursor.at = at + source.length;
  return plainScalar(cursor, source, at);
};

const isQuote = (code: number): boolean => code === DOUBLE_QUOTE || code === SINGLE_QUOTE;

const PLAIN_KEY = /[A-Za-z0-9_][\w./-]*(?=: )/y;
const PLAIN_VALUE = /(?:-?[A-Za-z0-9_]|\/)[\w./+-]*(?=[,\]}\n])/y;
