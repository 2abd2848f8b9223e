import { isAscii } from '../utf8.ts';

/**
 * Go maps letters one by one, JavaScript knows words: 'ß' stays 'ß' in Go's ToUpper, and a final sigma is no special one.
 */
const mapLetters = (text: string, map: (letter: string) => string): string => {
  let out = '';
  for (const letter of text) {
    const mapped = map(letter);
    const [only] = mapped;
    // A letter that becomes several has no simple mapping; the dotted capital I has one, to its first part.
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

/** strings.Title's idea of what ends a word: of ASCII all but letters, digits and `_`; beyond it white space. */
const isSeparator = (letter: string): boolean => {
  if (letter <= '\x7f') return !/[A-Za-z0-9_]/.test(letter);
  return !/[\p{L}\p{Nd}]/u.test(letter) && SPACE.test(letter);
};

/** Two letters in one character: their title case has only the first one large. */
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

/** A letter as a word begins with it. */
export const titleLetter = (letter: string): string => TITLES[letter] ?? toUpper(letter);

/** Go's deprecated strings.Title, which sprig's `title` is: the first letter of every word in upper case. */
export const titleCase = (text: string): string => {
  let previous = ' ';
  let out = '';
  for (const letter of text) {
    out += isSeparator(previous) ? titleLetter(letter) : letter;
    previous = letter;
  }
  return out;
};

/** The first letter of every word, as white space parts them, in lower case. */
export const uncapitalize = (text: string): string => {
  let first = true;
  let out = '';
  for (const letter of text) {
    out += first ? toLower(letter) : letter;
    first = SPACE.test(letter);
  }
  return out;
};
