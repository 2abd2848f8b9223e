import { type Run, chargeSteps } from '../../run.ts';
import { bytesAsText, textFromBytes } from '../../../model/go/utf8.ts';
import { isSpace, titleLetter, toLower, toUpper } from '../../../model/go/letter-case.ts';
import { type FunctionTable, fixed } from './template-function.ts';

/** sprig's word functions: case styles, initials, line wrapping. */

type WordKind = 'number' | 'upper' | 'letters' | 'connector' | 'mark' | 'other';
type TextWord = { readonly kind: WordKind; readonly text: string };

const CONNECTOR = '[-_\\t\\n\\v\\f\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
/** Ideographs are letters, but not part of a word. */
const LETTER = '(?![\\u4e00-\\u9fcc\\u3400-\\u4d85\\u{20000}-\\u{2b81d}])\\p{L}';
const SMALL = `(?!\\p{Lu})${LETTER}`;

const WORDS: readonly (readonly [WordKind, RegExp])[] = [
  ['connector', new RegExp(`${CONNECTOR}+`, 'uy')],
  ['mark', /\p{P}+/uy],
  // In `HTTPServer` the S belongs to the second word.
  [
    'upper',
    new RegExp(`\\p{Lu}{2,}(?!${LETTER})|\\p{Lu}+(?=\\p{Lu}(?:${SMALL}))|\\p{Lu}(?:${SMALL})*`, 'uy'),
  ],
  ['letters', new RegExp(`${LETTER}(?:${SMALL})*`, 'uy')],
  ['number', /\p{N}+/uy],
  ['other', new RegExp(`[^](?:(?!${CONNECTOR}|${LETTER}|\\p{N}|\\p{P})[^])*`, 'uy')],
];

const wordsOf = (run: Run, text: string): readonly TextWord[] => {
  const words: TextWord[] = [];
  for (let at = 0; at < text.length; ) {
    chargeSteps(run, 1);
    for (const [kind, pattern] of WORDS) {
      pattern.lastIndex = at;
      const found = pattern.exec(text)?.[0];
      if (found === undefined) continue;
      words.push({ kind, text: found });
      at += found.length;
      break;
    }
  }
  return words;
};

const isJoined = (word: TextWord | undefined): boolean =>
  word !== undefined && word.kind !== 'mark' && word.kind !== 'connector';

/** `HTTPServer` -> `http_server`: a connector between words; digits stay with the word before them. */
const connected = (run: Run, text: string, connector: string): string => {
  const words = wordsOf(run, text);
  let at = 0;
  const lower = ({ kind, text: word }: TextWord): string => {
    if (kind === 'connector') return connector.repeat(Array.from(word).length);
    return kind === 'upper' ? toLower(word) : word;
  };
  /** Takes the letters and digits that follow a number. */
  const run_ = (): string => {
    let out = '';
    for (
      let word = words[at];
      word && (word.kind === 'letters' || word.kind === 'number');
      word = words[at]
    ) {
      out += lower(word);
      at += 1;
    }
    return out;
  };
  let out = '';
  while (at < words.length) {
    const word = words[at];
    if (!word) break;
    at += 1;
    out += lower(word);
    const next = words[at];
    if (!next || word.kind === 'connector' || word.kind === 'mark') continue;
    if (word.kind === 'number') {
      out += run_();
      if (isJoined(words[at])) out += connector;
      continue;
    }
    if (next.kind !== 'number') {
      if (isJoined(next)) out += connector;
      continue;
    }
    const after = words[at + 1];
    // A number at the end, or before a new word, belongs to the word before it; before lower case letters it does not.
    if (!after) continue;
    if (after.kind === 'letters') {
      out += connector + run_();
      if (isJoined(words[at])) out += connector;
    } else {
      at += 1;
      out += lower(next);
      if (isJoined(after)) out += connector;
    }
  }
  return out;
};

const isConnector = (letter: string): boolean => letter === '-' || letter === '_' || isSpace(letter);
const isUpper = (letter: string): boolean => /\p{Lu}/u.test(letter);

/** `some_words` -> `SomeWords`. Leading connectors stay, and of several in a row all but the last. */
const pascalCase = (text: string): string => {
  const letters = Array.from(text);
  const start = letters.findIndex((letter) => !isConnector(letter));
  if (start === -1) return text;
  let out = letters.slice(0, start).join('');
  let current = letters[start] ?? '';
  // While the word is all upper case so far, its next upper case letters become lower case.
  let isUpperRun = isUpper(current);
  current = toUpper(current);
  for (const letter of letters.slice(start + 1)) {
    const before = current;
    current = letter;
    if (isConnector(before) && isConnector(letter)) {
      out += before;
    } else if (isConnector(before)) {
      isUpperRun = isUpper(letter);
      current = toUpper(letter);
    } else {
      if (isUpperRun && isUpper(letter)) current = toLower(letter);
      else isUpperRun = false;
      out += before;
    }
  }
  return out + current;
};

/** Swaps upper and lower case, but the first letter of a word gets title case. */
const swapCase = (text: string): string => {
  let out = '';
  let atStart = true;
  for (const letter of text) {
    if (/[\p{Lu}\p{Lt}]/u.test(letter)) {
      out += toLower(letter);
      atStart = false;
    } else if (/\p{Ll}/u.test(letter)) {
      out += atStart ? titleLetter(letter) : toUpper(letter);
      atStart = false;
    } else {
      out += letter;
      atStart = isSpace(letter);
    }
  }
  return out;
};

const initials = (text: string): string => {
  let out = '';
  let atStart = true;
  for (const letter of text) {
    if (isSpace(letter)) atStart = true;
    else {
      if (atStart) out += letter;
      atStart = false;
    }
  }
  return out;
};

/** Wraps at spaces into lines of at most `width` bytes; with `cuts` longer words are split. */
const wrap = (run: Run, width: number, newLine: string, text: string, cuts: boolean): string => {
  const bytes = bytesAsText(text);
  const limit = Math.max(1, width);
  const mark = bytesAsText(newLine);
  const lines: string[] = [];
  let at = 0;
  while (bytes.length - at > limit) {
    chargeSteps(run, 1 + (limit >>> 6));
    if (bytes[at] === ' ') {
      at += 1;
      continue;
    }
    const space = bytes.lastIndexOf(' ', at + limit);
    let end = space;
    if (space < at) end = cuts ? at + limit : bytes.indexOf(' ', at + limit);
    if (end === -1) break;
    lines.push(bytes.slice(at, end));
    at = space >= at || !cuts ? end + 1 : end;
  }
  lines.push(bytes.slice(at));
  chargeSteps(run, (lines.length * mark.length) >>> 6);
  return textFromBytes(lines.join(mark));
};

export const WORD_FUNCTIONS: FunctionTable = {
  snakecase: fixed(['string'], (run, text) => connected(run, text, '_')),
  kebabcase: fixed(['string'], (run, text) => connected(run, text, '-')),
  camelcase: fixed(['string'], (_run, text) => pascalCase(text)),
  swapcase: fixed(['string'], (_run, text) => swapCase(text)),
  initials: fixed(['string'], (_run, text) => initials(text)),
  wrap: fixed(['int', 'string'], (run, width, text) => wrap(run, width, '\n', text, false)),
  wrapWith: fixed(['int', 'string', 'string'], (run, width, newLine, text) =>
    wrap(run, width, newLine === '' ? '\n' : newLine, text, true),
  ),
};
