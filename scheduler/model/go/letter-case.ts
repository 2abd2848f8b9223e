import { isAscii } from './utf8.ts';

/**
 * Maps letters one by one as Go does: 'ß' stays 'ß' in ToUpper, and a final sigma is an ordinary one. JavaScript maps whole
 * words.
 */
const mapLetters = (text: string, map: (letter: string) => string): string => {
  let out = '';
  for (const letter of text) {
    const mapped = map(letter);
    const [only] = mapped;
    // A letter that maps to several has no simple mapping, except the dotted capital I, which maps to its first part.
    out += mapped === only || letter === '\u0130' ? only : letter;
  }
  return out;
};

export const toUpper = (text: string): string =>
  isAscii(text) ? text.toUpperCase() : mapLetters(text, (letter) => letter.toUpperCase());

export const toLower = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : mapLetters(text, (letter) => letter.toLowerCase());

const SPACE = /[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isSpace = (letter: string): boolean => SPACE.test(letter);

/** The end of a word for strings.Title: in ASCII anything but letters, digits and `_`, elsewhere white space. */
const isSeparator = (letter: string): boolean => {
  if (letter <= '\x7f') return !/[A-Za-z0-9_]/.test(letter);
  return !/[\p{L}\p{Nd}]/u.test(letter) && SPACE.test(letter);
};

/** Two letters in one character; in title case only the first is a capital. */
const TITLES: Readonly<Record<string, string>> = {
  Ǆ: 'ǅ',
  ǅ: 'ǅ',
  ǆ: 'ǅ',
  Ǉ: 'ǈ',
  ǈ: 'ǈ',
  ǉ: 'ǈ',
  Ǌ: 'ǋ',
  ǋ: 'ǋ',
  ǌ: 'ǋ',
  Ǳ: 'ǲ',
  ǲ: 'ǲ',
  ǳ: 'ǲ',
};

/** The letter in title case. */
export const titleLetter = (letter: string): string => TITLES[letter] ?? toUpper(letter);

/** Go's deprecated strings.Title, used by sprig's `title`: the first letter of every word in upper case. */
export const titleCase = (text: string): string => {
  let previous = ' ';
  let out = '';
  for (const letter of text) {
    out += isSeparator(previous) ? titleLetter(letter) : letter;
    previous = letter;
  }
  return out;
};

/** The first letter of every word in lower case; white space separates words. */
export const uncapitalize = (text: string): string => {
  let first = true;
  let out = '';
  for (const letter of text) {
    out += first ? toLower(letter) : letter;
    first = SPACE.test(letter);
  }
  return out;
};
