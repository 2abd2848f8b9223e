/**
 * How yaml.v3 writes a string: plain if it reads back as the same string under its own rules and YAML 1.1's, else quoted,
 * else as a literal block (behaviour spec 7). Four of its defects are not reproduced, because the result does not read back:
 * texts that start with a line break, U+2028 and U+2029, a leading byte order mark, and `<<`.
 */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal';

const KEYWORD =
  /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF|true|True|TRUE|false|False|FALSE|~|null|Null|NULL|<<|\.nan|\.NaN|\.NAN|[-+]?\.(?:inf|Inf|INF))$/;
const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
// yaml.v3 passes text with a leading point to Go's ParseFloat, which accepts underscores between digits.
const POINT_FLOAT = /^\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d)))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;

/** Go's time.Parse checks the calendar: `2024-13-01` is a plain string, `2024-12-01` a date. */
const isTimestamp = (text: string): boolean => {
  const match = TIMESTAMP.exec(text);
  if (!match) return false;
  const [year = 0, month = 0, day = 0, h1 = 0, m1 = 0, s1 = 0, zoneH = 0, zoneM = 0, h2 = 0, m2 = 0, s2 = 0] =
    match.slice(1).map((part) => Number(part ?? 0));
  if (month < 1 || month > 12 || day < 1 || zoneH > 24 || zoneM > 60) return false;
  if (Math.max(h1, h2) > 23 || Math.max(m1, m2, s1, s2) > 59) return false;
  const lastDay = new Date(0);
  lastDay.setUTCFullYear(year, month, 0);
  return day <= lastDay.getUTCDate();
};

/** Whether the plain text is an integer that fits Go's 64 bits. */
const isInteger = (text: string): boolean => {
  if (!INTEGER.test(text)) return false;
  const magnitude = BigInt(text.replace(/^[-+]/, ''));
  if (text.startsWith('-')) return magnitude <= 1n << 63n;
  return magnitude < 1n << (text.startsWith('+') ? 63n : 64n);
};

// YAML has no sign after the base, but yaml.v3 reads it.
const SIGNED_BASE = /^0(?:b[-+][01]+|o[-+][0-7]+)$/;

const isFloat = (text: string): boolean => FLOAT.test(text) && Number.isFinite(Number(text));

/** Whether a YAML 1.1 or 1.2 reader would read the plain text as something other than a string. */
const wouldChangeType = (text: string): boolean => {
  if (text === '' || KEYWORD.test(text)) return true;
  const first = text.charCodeAt(0);
  if (first === 0x2e) return POINT_FLOAT.test(text) && isFloat(text.replaceAll('_', ''));
  if (first !== 0x2b && first !== 0x2d && (first < 0x30 || first > 0x39)) return false;
  const digits = text.includes('_') ? text.replaceAll('_', '') : text;
  return (
    isTimestamp(text) ||
    isInteger(digits) ||
    SIGNED_BASE.test(digits) ||
    isFloat(digits) ||
    BASE_60.test(text)
  );
};

/** Starts with an indicator, or contains one that would end a plain scalar. */
const INDICATOR = /^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:[ \n]|$)|---|\.\.\.)|:(?:[ \t\n]|$)|[ \t\n]#/;

const isPlainUnsafe = (text: string): boolean =>
  INDICATOR.test(text) || text.startsWith(' ') || text.endsWith(' ');

// The characters that yaml.v3 considers printable. Any other, including everything beyond U+FFFF, forces double quotes. Tabs
// are handled separately.
const UNPRINTABLE = /[^\t\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

const LITERAL_UNSAFE = /^\n| \n| $/;

/** The style for a well-formed string. */
export const scalarStyle = (text: string): ScalarStyle => {
  if (UNPRINTABLE.test(text)) return 'double';
  if (text.includes('\n')) return LITERAL_UNSAFE.test(text) ? 'double' : 'literal';
  if (wouldChangeType(text) || text.includes('\t')) return 'double';
  return isPlainUnsafe(text) ? 'single' : 'plain';
};

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

const escapeCharacter = (character: string): string => {
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
};

const TO_ESCAPE = /[^\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]|["\\]/gu;

export const doubleQuoted = (text: string): string => `"${text.replace(TO_ESCAPE, escapeCharacter)}"`;

export const singleQuoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
