import { compareBytes } from '../digest.ts';
import type { Json } from '../json-value.ts';

export type { Json } from '../json-value.ts';

/** Numbers that a document may have: integers within ±(2^53-1), or any double that JSON can represent. */
export type Numbers = 'integers' | 'doubles';

/**
 * The bytes that are hashed and signed: keys sorted bytewise, no white space, undefined left out (docs/bundle-format.md section 1;
 * RFC 8785, restricted to integers unless `numbers` says otherwise).
 * @throws TypeError for other numbers, NaN and values that JSON cannot represent: a programming error, never input
 */
export const canonicalJson = (value: Json, numbers: Numbers = 'integers'): string =>
  write(value, false, numbers);

/** @param tried whether isInOrder has already rejected an enclosing list */
const write = (value: Json, tried: boolean, numbers: Numbers): string => {
  if (typeof value === 'string') return quote(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') {
    if (!isAllowed(value, numbers)) throw new TypeError(`canonical JSON has ${numbers} only, not ${value}`);
    // RFC 8785 writes numbers as ECMAScript does.
    return String(value);
  }
  if (Array.isArray(value)) return writeList(value, tried, numbers);
  // A Date or a Map has no entries and would become {}.
  if (Object.prototype.toString.call(value) === '[object Object]') {
    const object = value as { readonly [key: string]: Json | undefined };
    let text = '';
    for (const key of sortedKeys(object)) {
      const item = object[key];
      if (item !== undefined) text += `${text === '' ? '' : ','}${quote(key)}:${write(item, tried, numbers)}`;
    }
    return `{${text}}`;
  }
  throw new TypeError(`canonical JSON has no ${Object.prototype.toString.call(value).slice(8, -1)}`);
};

const isAllowed = (value: number, numbers: Numbers): boolean =>
  numbers === 'integers' ? Number.isSafeInteger(value) : Number.isFinite(value);

/** Length from which a list is first tried with JSON.stringify: a bundle has hundreds of assignments. */
const MIN_STRINGIFY_LENGTH = 16;

const writeList = (list: readonly Json[], tried: boolean, numbers: Numbers): string => {
  const isLong = list.length >= MIN_STRINGIFY_LENGTH;
  if (isLong && !tried && isInOrder(list)) return JSON.stringify(list);
  return `[${Array.from(list, (item) => write(item, tried || isLong, numbers)).join(',')}]`;
};

/** Whether JSON.stringify, which is faster, writes the canonical bytes: keys are sorted and all values are plain JSON. */
const isInOrder = (value: Json | undefined): boolean => {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true;
  if (typeof value === 'number') return Number.isSafeInteger(value);
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!isInOrder(value[at] as Json | undefined)) return false;
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false;
  const object = value as { readonly [key: string]: Json | undefined };
  let last = '';
  for (const key in object) {
    const item = object[key];
    if (compareBytes(last, key) > 0 || (item !== undefined && !isInOrder(item))) return false;
    last = key;
  }
  return true;
};

/** Text that JSON writes without escapes. */
const PLAIN = /^[ !#-[\]-~]*$/;

const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Sorts only when needed: most writers already produce their keys in order. */
const sortedKeys = (object: object): readonly string[] => {
  const keys = Object.keys(object);
  for (let at = 1; at < keys.length; at++)
    if (compareBytes(keys[at - 1] as string, keys[at] as string) > 0) return keys.sort(compareBytes);
  return keys;
};

export const canonicalBytes = (value: Json, numbers: Numbers = 'integers'): Buffer =>
  Buffer.from(canonicalJson(value, numbers));
