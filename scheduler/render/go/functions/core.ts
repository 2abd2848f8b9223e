import { checkLength, fail, type Run } from '../../run.ts';
import {
  type Float,
  type Int,
  isFloat,
  isInt,
  plainInt,
  SizedInt,
  toNumber,
} from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { sprint, sprintln } from '../print.ts';
import { sprintf } from '../printf.ts';
import { isPrintable } from '../quote.ts';
import { isStringMap } from '../string-map.ts';
import { byteLength, byteSlice } from '../../../model/go/utf8.ts';
import {
  byBytes,
  describeValue,
  formOf,
  isList,
  isMap,
  isValueMap,
  kindOf,
  lookupAny,
  sizeOf,
  truth,
  typed,
  type Value,
} from '../values/value.ts';
import { fixed, type FunctionTable, variadic } from './template-function.ts';
import { typeName } from '../type-name.ts';
import { deepEqual } from './equal.ts';

/** The functions of Go's text/template, except `and` and `or`, which evaluate lazily (compile-pipe.ts). */

const isNil = (value: Value): boolean => value === null || value === undefined;

const isNilList = (value: Value): boolean => isList(value) && formOf(value)?.nil === true;

const equalsNil = (value: Value): boolean => isNil(value) || isNilList(value);

const compareInts = (one: Int, other: Int): number => {
  const [a, b] = [plainInt(one), plainInt(other)];
  if (a < b) return -1;
  return a > b ? 1 : 0;
};

type BasicKind = 'bool' | 'int' | 'float64' | 'string';

/** The kind used in comparisons: all integers are one kind. */
const basicKind = (value: Value): BasicKind | undefined => {
  const kind = isInt(value) ? 'int' : kindOf(value);
  return kind === 'bool' || kind === 'int' || kind === 'float64' || kind === 'string' ? kind : undefined;
};

const equal = (run: Run, a: Value, b: Value): boolean => {
  if (isNil(a) || isNil(b)) return equalsNil(a) && equalsNil(b);
  if (isList(a) && isList(b) && (isNilList(a) || isNilList(b))) return isNilList(a) && isNilList(b);
  const kind = basicKind(a);
  if (kind !== basicKind(b))
    return fail(
      run,
      `cannot compare ${describeValue(a)} with ${describeValue(b)}`,
      'Bring both to one type: int, float64 or toString',
    );
  if (a instanceof Opaque && b instanceof Opaque)
    return a === b || (a.kind === 'struct' && a.type === b.type && a.text === b.text);
  if (kind === undefined) return fail(run, `${describeValue(a)} cannot be compared`);
  if (isFloat(a)) return toNumber(a) === toNumber(b as Float);
  if (isInt(a) && isInt(b)) return compareInts(a, b) === 0;
  return a === b;
};

/** Compares two strings, or two numbers of one type. */
const compare = (run: Run, a: Value, b: Value): number => {
  if (typeof a === 'string' && typeof b === 'string') return byBytes(a, b);
  if (isInt(a) && isInt(b)) return compareInts(a, b);
  if (isFloat(a) && isFloat(b)) return toNumber(a) - toNumber(b);
  return fail(
    run,
    `cannot tell which of ${describeValue(a)} and ${describeValue(b)} is less`,
    'Bring both to one type: int, float64 or toString',
  );
};

const position = (run: Run, value: Value, length: number): number => {
  if (!isInt(value)) return fail(run, `a list is indexed with an integer, not ${describeValue(value)}`);
  const at = toNumber(value);
  return at < 0 || at > length ? fail(run, `index ${at} is out of range (length ${length})`) : at;
};

const element = <T>(run: Run, items: ArrayLike<T>, key: Value): T | undefined => {
  const at = position(run, key, items.length);
  return at < items.length ? items[at] : fail(run, `index ${at} is out of range (length ${items.length})`);
};

const indexOne = (run: Run, item: Value, key: Value): Value => {
  if (isList(item)) return element(run, item, key);
  if (typeof item === 'string') return new SizedInt('uint8', element(run, Buffer.from(item), key) ?? 0);
  if (isMap(item)) {
    if (!isValueMap(item) && typeof key !== 'string')
      return fail(run, `a map is indexed with a string, not ${describeValue(key)}`);
    const found = lookupAny(item, key);
    return found === undefined && isStringMap(run, item) ? '' : found;
  }
  return fail(run, `${describeValue(item)} cannot be indexed`);
};

const index = (run: Run, item: Value, ...keys: readonly Value[]): Value => {
  if (isNil(item)) return fail(run, 'index was given nothing to look into');
  let found = item;
  for (const key of keys) {
    if (isNil(found)) return fail(run, 'index meets a missing value on its way');
    found = indexOne(run, found, key);
  }
  return found;
};

const slice = (run: Run, item: Value, ...positions: readonly Value[]): Value => {
  if (!isList(item) && typeof item !== 'string') return fail(run, `${describeValue(item)} cannot be sliced`);
  const length = typeof item === 'string' ? byteLength(item) : item.length;
  const [from = 0, to = length, cap] = positions.map((value) => position(run, value, length));
  if (positions.length > 3 || (cap !== undefined && (typeof item === 'string' || to > cap)))
    return fail(run, 'slice has wrong positions');
  if (from > to) return fail(run, `slice starts at ${from}, behind its end ${to}`);
  return typeof item === 'string' ? byteSlice(item, from, to) : sameForm(item, item.slice(from, to));
};

/** Gives part of a list the Go type of the whole list. */
export const sameForm = (of: readonly Value[], part: Value[]): Value[] => {
  const form = formOf(of);
  return form ? typed(part, form.type, form.nil) : part;
};

const length = (run: Run, item: Value): Value => {
  if (typeof item === 'string') return byteLength(item);
  if (isList(item)) return item.length;
  return isMap(item) ? sizeOf(item) : fail(run, `${describeValue(item)} has no length`);
};

const HTML: Readonly<Record<string, string>> = {
  '\0': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

const JS: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  "'": "\\'",
  '"': '\\"',
  '<': '\\u003C',
  '>': '\\u003E',
  '&': '\\u0026',
  '=': '\\u003D',
};

const escapeJs = (character: string): string => {
  const known = JS[character];
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x80 && isPrintable(character)) return character;
  return `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`;
};

/** The arguments as one text; a missing one prints as in an action. */
const joined = (run: Run, values: readonly Value[]): string =>
  sprint(
    run,
    values.map((value) => (isNil(value) ? '<no value>' : value)),
  );

const escaped = (
  run: Run,
  values: readonly Value[],
  pattern: RegExp,
  replace: (character: string) => string,
): string => {
  const text = joined(run, values);
  checkLength(run, text.length);
  return text.replace(pattern, replace);
};

/** Unlike Go's QueryEscape, encodeURIComponent keeps five characters. */
const queryEscape = (text: string): string =>
  encodeURIComponent(text.toWellFormed())
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

export const CORE: FunctionTable = {
  not: fixed(['any'], (_run, value) => !truth(value)),
  eq: variadic(['any', 'any'], 'any', (run, first, ...others) =>
    others.some((one) => equal(run, first, one)),
  ),
  ne: fixed(['any', 'any'], (run, a, b) => !equal(run, a, b)),
  lt: fixed(['any', 'any'], (run, a, b) => compare(run, a, b) < 0),
  le: fixed(['any', 'any'], (run, a, b) => compare(run, a, b) <= 0),
  gt: fixed(['any', 'any'], (run, a, b) => compare(run, a, b) > 0),
  ge: fixed(['any', 'any'], (run, a, b) => compare(run, a, b) >= 0),
  index: variadic(['any'], 'any', index),
  slice: variadic(['any'], 'any', slice),
  len: fixed(['any'], length),
  print: variadic([], 'any', (run, ...values) => sprint(run, values)),
  println: variadic([], 'any', (run, ...values) => sprintln(run, values)),
  printf: variadic(['string'], 'any', (run, format, ...values) => sprintf(run, format, values)),
  html: variadic([], 'any', (run, ...values) =>
    escaped(run, values, /[\0"'&<>]/g, (mark) => HTML[mark] ?? mark),
  ),
  js: variadic([], 'any', (run, ...values) => escaped(run, values, /[\\'"<>&=]|[^\x20-\x7f]/gu, escapeJs)),
  urlquery: variadic([], 'any', (run, ...values) => queryEscape(joined(run, values))),
};

/** sprig's defaults, conditions and type checks. `empty` is the negation of Go's truth. */
export const LOGIC: FunctionTable = {
  default: variadic(['any'], 'any', (_run, otherwise, ...given) =>
    given.length > 0 && truth(given[0]) ? given[0] : otherwise,
  ),
  empty: fixed(['any'], (_run, value) => !truth(value)),
  coalesce: variadic([], 'any', (_run, ...values) => values.find(truth) ?? null),
  all: variadic([], 'any', (_run, ...values) => values.every(truth)),
  any: variadic([], 'any', (_run, ...values) => values.some(truth)),
  ternary: fixed(['any', 'any', 'bool'], (_run, yes, no, condition) => (condition ? yes : no)),
  fail: fixed(['string'], (run, message) => fail(run, message)),
  kindOf: fixed(['any'], (_run, value) => kindOf(value)),
  kindIs: fixed(['string', 'any'], (_run, kind, value) => kindOf(value) === kind),
  typeOf: fixed(['any'], (run, value) => typeName(run, value)),
  typeIs: fixed(['string', 'any'], (run, type, value) => typeName(run, value) === type),
  typeIsLike: fixed(['string', 'any'], (run, type, value) => typeName(run, value) === type),
  deepEqual: fixed(['any', 'any'], (run, a, b) => deepEqual(run, a, b)),
};
