/** Go's strconv.Quote and Unquote. */

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

const NOT_PRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export const isPrintable = (character: string): boolean => !NOT_PRINTABLE.test(character);

const escapeIn = (character: string, ascii: boolean): string => {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80 ? code >= 0x20 && code !== 0x7f : !ascii && isPrintable(character)) return character;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
};

const SIMPLE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** A Go string literal in double quotes. `ascii` also escapes all other characters (%+q). */
export const quote = (text: string, ascii = false): string => {
  if (SIMPLE.test(text)) return `"${text}"`;
  let out = '"';
  for (const character of text) out += character === '"' ? '\\"' : escapeIn(character, ascii);
  return `${out}"`;
};

/** A Go character literal in single quotes (%q of an integer). */
export const quoteRune = (code: number, ascii = false): string => {
  const valid = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  const character = valid ? String.fromCodePoint(code) : '\ufffd';
  return `'${character === "'" ? "\\'" : escapeIn(character, ascii)}'`;
};

const SINGLE: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
};

const NUMERIC = /^(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/;

/** Decodes an escape; `length` excludes the backslash, `byte` distinguishes a byte from a code point. */
const readEscape = (
  text: string,
  at: number,
  delimiter: string,
): { code: number; length: number; byte: boolean } | undefined => {
  const letter = text[at] ?? '';
  const simple = letter === delimiter ? letter.charCodeAt(0) : SINGLE[letter];
  if (simple !== undefined) return { code: simple, length: 1, byte: false };
  const match = NUMERIC.exec(text.slice(at, at + 9));
  if (!match) return undefined;
  const [all, hex, octal, short, long] = match;
  const byte = hex ?? octal;
  const code =
    octal === undefined ? Number.parseInt(hex ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8);
  const invalid = byte === undefined ? code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) : code > 0xff;
  return invalid ? undefined : { code, length: all.length, byte: byte !== undefined };
};

/**
 * Decodes the text between the quotes of a Go string or character literal; undefined for an invalid escape. Bytes written as
 * `\xff` are decoded as UTF-8; invalid UTF-8 becomes U+FFFD.
 */
export const unquote = (inner: string, delimiter: '"' | "'"): string | undefined => {
  if (!inner.includes('\\')) return inner;
  const parts: Buffer[] = [];
  let at = 0;
  while (at < inner.length) {
    const backslash = inner.indexOf('\\', at);
    const end = backslash === -1 ? inner.length : backslash;
    parts.push(Buffer.from(inner.slice(at, end)));
    at = end;
    if (backslash === -1) break;
    const escape = readEscape(inner, at + 1, delimiter);
    if (!escape) return undefined;
    parts.push(escape.byte ? Buffer.of(escape.code) : Buffer.from(String.fromCodePoint(escape.code)));
    at += 1 + escape.length;
  }
  return Buffer.concat(parts).toString('utf8');
};
