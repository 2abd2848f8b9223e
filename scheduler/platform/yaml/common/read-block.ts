import { Pair, type Scalar, YAMLMap, YAMLSeq } from 'yaml';
import type { CommonNode } from './common-node.ts';
import {
  behindSpaces,
  COLON,
  CURLY,
  type Cursor,
  DOUBLE_QUOTE,
  HASH,
  isEnd,
  isItem,
  NEWLINE,
  PIPE,
  SINGLE_QUOTE,
  SPACE,
  SQUARE,
} from './cursor.ts';
import { readFlow } from './read-flow.ts';
import { readLead, setLead } from './read-lead.ts';
import { plainScalar, readLineEnd, readLiteral, readPlain, readQuoted } from './read-scalar.ts';

/** A mapping whose keys are in column `indent`, from its first key on; the cursor is at the line behind it. */
export const readMap = (cursor: Cursor, indent: number): YAMLMap.Parsed | undefined => {
  if (indent > MAX_INDENT) return undefined;
  const { text, document } = cursor;
  const map = new YAMLMap(document.schema) as YAMLMap.Parsed;
  const start = cursor.at;
  let key = readKey(cursor);
  let end = start;
  while (key) {
    const value = readValue(cursor, indent);
    if (!value) return undefined;
    map.items.push(new Pair<Scalar.Parsed, CommonNode>(key, value));
    end = value.range[2];
    const lead = readLead(cursor, indent, isListAt(text, value, indent));
    if (lead === undefined) return undefined;
    if (lead.ends) {
      map.range = [start, end, end];
      return map;
    }
    key = isItem(text, cursor.at) ? undefined : readKey(cursor);
    if (key) setLead(key, lead);
  }
  return undefined;
};

/** Each level is a call. */
const MAX_INDENT = 200;

/** A comment behind a list that is no further in than its key is the list's. */
const isListAt = (text: string, value: CommonNode, indent: number): boolean =>
  indent > 0 &&
  value instanceof YAMLSeq &&
  value.flow !== true &&
  text.charCodeAt(value.range[0] - indent - 1) === NEWLINE;

/** A key with its colon. */
const readKey = (cursor: Cursor): Scalar.Parsed | undefined => {
  const { text, at } = cursor;
  const code = text.charCodeAt(at);
  let key: Scalar.Parsed | undefined;
  if (code === DOUBLE_QUOTE || code === SINGLE_QUOTE) key = readQuoted(cursor);
  else {
    KEY.lastIndex = at;
    const source = KEY.exec(text)?.[0];
    if (source === undefined) return undefined;
    cursor.at = at + source.length;
    key = plainScalar(cursor, source, at);
  }
  if (!key || cursor.at - at > MAX_KEY || !isColon(text, cursor.at)) return undefined;
  cursor.at += 1;
  return key;
};

const KEY = /[A-Za-z0-9_$./][\w$./-]*/y;
/** Longer ones are mistakes. */
const MAX_KEY = 1000;

const isColon = (text: string, at: number): boolean => {
  if (text.charCodeAt(at) !== COLON) return false;
  const next = text.charCodeAt(at + 1);
  return next === SPACE || next === NEWLINE || at + 1 === text.length;
};

/** The value of a key in column `indent`, from behind its colon on; the cursor is at the line behind it. */
const readValue = (cursor: Cursor, indent: number): CommonNode | undefined => {
  const { text, at } = cursor;
  cursor.afterNothing = false;
  if (text.charCodeAt(at) === SPACE) {
    cursor.at = behindSpaces(text, at);
    return readInline(cursor, indent);
  }
  // Behind the line's end.
  const line = Math.min(at + 1, text.length);
  const ink = behindSpaces(text, line);
  const code = text.charCodeAt(ink);
  if (code === NEWLINE || code === HASH || (ink === text.length && ink > line)) return undefined;
  const column = ink - line;
  if (!isEnd(text, ink) || column > 0) {
    cursor.at = ink;
    if (isItem(text, ink)) {
      if (column >= indent) return readSeq(cursor, column);
    } else if (column > indent) return readMap(cursor, column);
  }
  cursor.at = line;
  cursor.afterNothing = true;
  return plainScalar(cursor, '', at);
};

/** A value on the line of its key or of its list's `-`. */
const readInline = (cursor: Cursor, indent: number): CommonNode | undefined => {
  const code = cursor.text.charCodeAt(cursor.at);
  if (code === PIPE) return readLiteral(cursor, indent);
  if (code === CURLY || code === SQUARE) return withLineEnd(cursor, readFlow(cursor, indent));
  if (code !== DOUBLE_QUOTE && code !== SINGLE_QUOTE) return readPlain(cursor);
  const scalar = readQuoted(cursor);
  return scalar && readLineEnd(cursor, scalar) ? scalar : undefined;
};

const withLineEnd = <T extends YAMLMap.Parsed | YAMLSeq.Parsed>(
  cursor: Cursor,
  made: T | undefined,
): T | undefined => {
  const { text, at } = cursor;
  if (!made || (at < text.length && text.charCodeAt(at) !== NEWLINE)) return undefined;
  cursor.at = Math.min(at + 1, text.length);
  made.range[2] = cursor.at;
  return made;
};

/** A list whose `-` are in column `indent`. */
const readSeq = (cursor: Cursor, indent: number): YAMLSeq.Parsed | undefined => {
  if (indent > MAX_INDENT) return undefined;
  const { text, document } = cursor;
  const seq = new YAMLSeq(document.schema) as YAMLSeq.Parsed;
  const start = cursor.at;
  let lead: ReturnType<typeof readLead>;
  for (;;) {
    const dash = cursor.at;
    cursor.afterNothing = false;
    cursor.at = behindSpaces(text, dash + 1);
    const item = isKeyAt(cursor)
      ? readMap(cursor, indent + cursor.at - dash)
      : isItem(text, cursor.at)
        ? undefined
        : readInline(cursor, indent);
    if (!item) return undefined;
    if (lead) setLead(item, lead);
    seq.items.push(item);
    const end = item.range[2];
    const line = cursor.at;
    lead = readLead(cursor, indent, false);
    if (lead === undefined) return undefined;
    if (!lead.ends && isItem(text, cursor.at)) continue;
    // What is before the key behind the list is the key's.
    cursor.at = line;
    seq.range = [start, end, end];
    return seq;
  }
};

const isKeyAt = ({ text, at }: Cursor): boolean => {
  KEY_AND_COLON.lastIndex = at;
  return KEY_AND_COLON.test(text);
};
const KEY_AND_COLON = /(?:[A-Za-z0-9_$./][\w$./-]*|"[^"\\\n]*"|'[^'\n]*'):(?:[ \n]|$)/y;
