import { checkLength, fail, type Run } from '../../run.ts';
import { goText } from '../print.ts';
import { quote } from '../quote.ts';
import { trimWhile } from '../../../model/go/trim.ts';
import { byteLength, byteSlice, codePoints } from '../../../model/go/utf8.ts';
import { type Dict, isList, stringList, typed, type Value } from '../values/value.ts';
import { isSpace, titleCase, toLower, toUpper, uncapitalize } from '../../../model/go/letter-case.ts';
import { type FunctionTable, fixed, variadic } from './template-function.ts';

/** sprig's text functions, in sprig's argument order: the piped value comes last. */

// unicode.IsSpace
const SPACE = '\\t\\n\\v\\f\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const SPACES = new RegExp(`[${SPACE}]+`, 'g');

const count = (text: string, part: string): number => {
  let found = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) found += 1;
  return found;
};

/** Go's strings.Replace: an empty `old` matches before every character and at the end. */
const replaceAll = (run: Run, text: string, old: string, by: string): string => {
  if (old === '') {
    const characters = codePoints(text);
    checkLength(run, text.length + (characters.length + 1) * by.length);
    return by + characters.map((character) => character + by).join('');
  }
  if (by.length > old.length) checkLength(run, text.length + count(text, old) * (by.length - old.length));
  return text.replaceAll(old, () => by);
};

const indent = (run: Run, spaces: number, text: string): string => {
  if (spaces < 0) return fail(run, 'indent cannot be negative');
  checkLength(run, spaces);
  const pad = ' '.repeat(spaces);
  return pad + replaceAll(run, text, '\n', `\n${pad}`);
};

const repeat = (run: Run, times: number, text: string): string => {
  if (times < 0) return fail(run, 'repeat cannot be negative');
  checkLength(run, times * text.length);
  return text.repeat(times);
};

/** Removes the characters in `set` from both ends. */
const trimSet = (text: string, set: string): string => {
  const unwanted = new Set(set);
  const characters = codePoints(text);
  const start = characters.findIndex((one) => !unwanted.has(one));
  if (start === -1) return '';
  return characters.slice(start, characters.findLastIndex((one) => !unwanted.has(one)) + 1).join('');
};

/** A negative length keeps the end of the text, as in newer sprig versions. */
const trunc = (length: number, text: string): string => {
  const size = byteLength(text);
  if (length >= 0) return size <= length ? text : byteSlice(text, 0, length);
  return size + length > 0 ? byteSlice(text, size + length, size) : text;
};

const substring = (run: Run, start: number, end: number, text: string): string => {
  const size = byteLength(text);
  const from = Math.max(start, 0);
  // As in sprig: a negative start is 0, a negative end or one that is too large is the end of the text.
  const within = end < 0 || end > size ? size : end;
  const to = start < 0 ? end : within;
  if (from > to || to > size) return fail(run, `substr ${start} ${end} does not fit a text of ${size} bytes`);
  return byteSlice(text, from, to);
};

const toText = (run: Run, value: Value): string => goText(run, value);

/** sprig's strslice: the texts of a list without nils, or a single text. */
export const texts = (run: Run, value: Value): string[] => {
  if (value === null || value === undefined) return [];
  if (!isList(value)) return [toText(run, value)];
  run.stepsLeft -= value.length;
  return value.filter((item) => item !== null && item !== undefined).map((item) => toText(run, item));
};

const splitUp = (run: Run, text: string, separator: string): string[] => {
  const parts = separator === '' ? codePoints(text) : text.split(separator);
  run.stepsLeft -= parts.length;
  return parts;
};

const splitN = (run: Run, text: string, separator: string, limit: number): string[] => {
  const parts = splitUp(run, text, separator);
  if (limit < 0 || parts.length <= limit) return parts;
  return limit === 0 ? [] : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
};

/** The result of sprig's split: a map with the keys `_0`, `_1` ... */
const numbered = (run: Run, parts: readonly string[]): Dict => {
  const map = Object.create(null) as Dict;
  parts.forEach((part, index) => {
    map[`_${index}`] = part;
  });
  run.made.add(map);
  return typed(map, 'map[string]string');
};

const joined = (run: Run, parts: readonly string[], separator: string): string => {
  checkLength(
    run,
    parts.reduce((length, part) => length + part.length, parts.length * separator.length),
  );
  return parts.join(separator);
};

const abbreviate = (width: number, text: string): string => {
  const size = byteLength(text);
  if (width < 4 || size <= width) return text;
  return `${byteSlice(text, 0, width - 3)}...`;
};

/** At most `width` bytes from about `offset` on, with dots in place of what is left out. */
const abbreviateBoth = (offset: number, width: number, text: string): string => {
  const size = byteLength(text);
  if (width < 4 || (offset > 0 && width < 7) || size <= width) return text;
  const start = Math.min(offset, size, size - (width - 3));
  if (start <= 4) return abbreviate(width, text);
  return start + width - 3 < size
    ? `...${abbreviate(width - 3, byteSlice(text, start, size))}`
    : `...${byteSlice(text, size - (width - 3), size)}`;
};

/**
 * Kalypso's unquote: removes white space, then `"`, then `'` from both ends; any value but a string gives "" (behaviour spec
 * 2.6).
 */
const unquote = (value: Value): string =>
  typeof value === 'string' ? trimSet(trimSet(trimWhile(value, isSpace), '"'), "'") : '';

/** The arguments that are not nil, each as text, separated by spaces. */
const each = (run: Run, values: readonly Value[], show: (text: string) => string): string => {
  const there = values.filter((value) => value !== null);
  return joined(
    run,
    there.map((value) => show(toText(run, value))),
    ' ',
  );
};

export const TEXT: FunctionTable = {
  indent: fixed(['int', 'string'], indent),
  nindent: fixed(['int', 'string'], (run, spaces, text) => `\n${indent(run, spaces, text)}`),
  quote: variadic([], 'any', (run, ...values) => each(run, values, (text) => quote(text))),
  squote: variadic([], 'any', (run, ...values) => each(run, values, (text) => `'${text}'`)),
  unquote: fixed(['any'], (_run, value) => unquote(value)),
  trim: fixed(['string'], (_run, text) => trimWhile(text, isSpace)),
  trimAll: fixed(['string', 'string'], (_run, set, text) => trimSet(text, set)),
  trimall: fixed(['string', 'string'], (_run, set, text) => trimSet(text, set)),
  trimPrefix: fixed(['string', 'string'], (_run, part, text) =>
    text.startsWith(part) ? text.slice(part.length) : text,
  ),
  trimSuffix: fixed(['string', 'string'], (_run, part, text) =>
    text.endsWith(part) ? text.slice(0, text.length - part.length) : text,
  ),
  nospace: fixed(['string'], (_run, text) => text.replace(SPACES, '')),
  upper: fixed(['string'], (_run, text) => toUpper(text)),
  lower: fixed(['string'], (_run, text) => toLower(text)),
  title: fixed(['string'], (_run, text) => titleCase(text)),
  untitle: fixed(['string'], (_run, text) => uncapitalize(text)),
  replace: fixed(['string', 'string', 'string'], (run, old, by, text) => replaceAll(run, text, old, by)),
  contains: fixed(['string', 'string'], (_run, part, text) => text.includes(part)),
  hasPrefix: fixed(['string', 'string'], (_run, part, text) => text.startsWith(part)),
  hasSuffix: fixed(['string', 'string'], (_run, part, text) => text.endsWith(part)),
  trunc: fixed(['int', 'string'], (_run, length, text) => trunc(length, text)),
  abbrev: fixed(['int', 'string'], (_run, width, text) => abbreviate(width, text)),
  abbrevboth: fixed(['int', 'int', 'string'], (_run, offset, width, text) =>
    abbreviateBoth(offset, width, text),
  ),
  substr: fixed(['int', 'int', 'string'], substring),
  repeat: fixed(['int', 'string'], repeat),
  join: fixed(['string', 'any'], (run, separator, value) => joined(run, texts(run, value), separator)),
  split: fixed(['string', 'string'], (run, separator, text) => numbered(run, splitUp(run, text, separator))),
  splitn: fixed(['string', 'int', 'string'], (run, separator, limit, text) =>
    numbered(run, splitN(run, text, separator, limit)),
  ),
  splitList: fixed(['string', 'string'], (run, separator, text) => stringList(splitUp(run, text, separator))),
  cat: variadic([], 'any', (run, ...values) => each(run, values, (text) => text)),
  plural: fixed(['string', 'string', 'int'], (_run, one, many, amount) => (amount === 1 ? one : many)),
  toString: fixed(['any'], (run, value) => toText(run, value)),
  toStrings: fixed(['any'], (run, value) => stringList(texts(run, value))),
  hello: fixed([], () => 'Hello!'),
};
