import { isScalar, Scalar, type ScalarTag } from 'yaml';
import {
  BACKSLASH,
  behindSpaces,
  type Cursor,
  DASH,
  DOUBLE_QUOTE,
  HASH,
  NEWLINE,
  PIPE,
  SINGLE_QUOTE,
  SPACE,
} from './cursor.ts';

/** A text whose type is told by what is written, as the library tells it: by the tests of its own schema. */
export const plainScalar = ({ document }: Cursor, source: string, from: number): Scalar.Parsed => {
  const tag = MAY_BE_TYPED.test(source)
    ? (document.schema.tags.find((one) => one.default === true && 'test' in one && one.test?.test(source)) as
        | ScalarTag
        | undefined)
    : undefined;
  const value = tag ? tag.resolve(source, ignore, document.options) : source;
  const scalar = isScalar(value) ? value : new Scalar(value);
  const made = placed(scalar, source, from, from + source.length);
  made.type = 'PLAIN';
  if (tag?.format !== undefined) made.format = tag.format;
  return made;
};

const MAY_BE_TYPED = /^(?:[-+.~0-9nNtTfF]|$)/;
const ignore = (): void => {};

const placed = (scalar: Scalar, source: string, from: number, to: number): Scalar.Parsed => {
  scalar.range = [from, to, to];
  scalar.source = source;
  return scalar as Scalar.Parsed;
};

/** A text in quotes, on one line; the cursor is behind it. */
export const readQuoted = (cursor: Cursor): Scalar.Parsed | undefined => {
  const { text, at } = cursor;
  const double = text.charCodeAt(at) === DOUBLE_QUOTE;
  const end = double ? endOfDouble(text, at) : endOfSingle(text, at);
  const source = text.slice(at, end);
  if (end === -1 || source.includes('\n')) return undefined;
  const inside = source.slice(1, -1);
  let value = inside;
  if (double && inside.includes('\\')) {
    if (OTHER_ESCAPES.test(inside)) return undefined;
    value = JSON.parse(source) as string;
  } else if (!double && inside.includes("'")) value = inside.replaceAll("''", "'");
  cursor.at = at + source.length;
  const scalar = placed(new Scalar(value), value, at, cursor.at);
  scalar.type = double ? 'QUOTE_DOUBLE' : 'QUOTE_SINGLE';
  return scalar;
};

/** No pattern finds these: one that may stop at each character needs a stack as large as the text. */
const endOfDouble = (text: string, at: number): number => {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return -1;
};

const endOfSingle = (text: string, at: number): number => {
  let end = text.indexOf("'", at + 1);
  while (end !== -1 && text.charCodeAt(end + 1) === SINGLE_QUOTE) end = text.indexOf("'", end + 2);
  return end === -1 ? -1 : end + 1;
};

/** YAML has escapes that JSON has not; of what looks like one, some is an escaped backslash. */
const OTHER_ESCAPES = /\\(?:[^"\\/bfnrtu]|u(?![0-9a-fA-F]{4}))/;

/** The rest of the line behind a scalar: nothing, or a comment of its own. @returns false: something else */
export const readLineEnd = (cursor: Cursor, scalar: Scalar.Parsed): boolean => {
  const { text } = cursor;
  let at = behindSpaces(text, cursor.at);
  if (text.charCodeAt(at) === HASH && text.charCodeAt(at - 1) === SPACE) {
    const end = lineEnd(text, at);
    scalar.comment = text.slice(at + 1, end) || ' ';
    at = end;
  }
  if (at < text.length && text.charCodeAt(at) !== NEWLINE) return false;
  cursor.at = Math.min(at + 1, text.length);
  scalar.range[2] = cursor.at;
  return true;
};

export const lineEnd = (text: string, at: number): number => {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end;
};

/** A text without quotes on one line, with its line. */
export const readPlain = (cursor: Cursor): Scalar.Parsed | undefined => {
  const { text, at } = cursor;
  if (
    INDICATORS.has(text.charCodeAt(at)) ||
    (text.charCodeAt(at) === DASH && text.charCodeAt(at + 1) <= SPACE)
  )
    return undefined;
  const line = text.slice(at, lineEnd(text, at));
  const comment = line.indexOf(' #');
  const source = withoutSpaces(comment === -1 ? line : line.slice(0, comment));
  // `a: b: c` is a mistake, which the library tells.
  if (source === '' || source.endsWith(':') || source.includes(': ')) return undefined;
  cursor.at = at + source.length;
  const scalar = plainScalar(cursor, source, at);
  return readLineEnd(cursor, scalar) ? scalar : undefined;
};

const withoutSpaces = (line: string): string => {
  let end = line.length;
  while (line.charCodeAt(end - 1) === SPACE) end -= 1;
  return line.slice(0, end);
};
/** What begins a text without quotes in no case, or seldom. */
const INDICATORS = new Set(Buffer.from('?:,[]{}#&*!|>\'"%@`'));

/** `|` and `|-`: the lines below, that are further in than their owner. */
export const readLiteral = (cursor: Cursor, owner: number): Scalar.Parsed | undefined => {
  const { text, at } = cursor;
  const strip = text.charCodeAt(at + 1) === DASH;
  const header = at + (strip ? 2 : 1);
  if (text.charCodeAt(at) !== PIPE || text.charCodeAt(header) !== NEWLINE) return undefined;
  const first = header + 1;
  const margin = behindSpaces(text, first) - first;
  if (margin <= owner || isLineEnd(text, first + margin)) return undefined;
  let value = '';
  let content = 0;
  let end = first;
  for (let line = first; line < text.length; ) {
    const ink = behindSpaces(text, line);
    const next = Math.min(lineEnd(text, line) + 1, text.length);
    // Lines of spaces have rules of their own.
    if (isLineEnd(text, ink) && ink > line) return undefined;
    if (ink > line && ink - line >= margin) {
      value += text.slice(line + margin, next);
      content = value.length;
      end = next;
    } else if (text.charCodeAt(line) === NEWLINE) value += '\n';
    else break;
    line = next;
  }
  value = value.slice(0, content);
  if (strip) value = value.replace(/\n$/, '');
  else if (!value.endsWith('\n')) value += '\n';
  cursor.at = end;
  const scalar = placed(new Scalar(value), value, at, end);
  scalar.type = 'BLOCK_LITERAL';
  return scalar;
};

const isLineEnd = (text: string, at: number): boolean => at >= text.length || text.charCodeAt(at) === NEWLINE;
