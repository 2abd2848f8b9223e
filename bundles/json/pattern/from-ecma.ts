import { PatternError } from './pattern-error.ts';
import { escapeLength } from './pattern-size.ts';

/**
 * Translates a regular expression of ECMA-262, the syntax of JSON Schema's `pattern`, to RE2. Syntax that both read alike stays, and so does
 * syntax of RE2 alone (`(?i)`, `\z`, `[[:alpha:]]`).
 * @throws PatternError for look-around, back references and repetitions above 1000, which RE2 does not support
 */
export const fromEcma = (pattern: string): string => {
  // With the flag `s` in the expression, RE2 decides per group what a dot matches.
  const dot = /\(\?[a-zA-Z]*s/.test(pattern) ? '.' : '[^\\n\\r\\x{2028}\\x{2029}]';
  let out = '';
  let at = 0;
  while (at < pattern.length) {
    const char = pattern[at] as string;
    const rest = pattern.slice(at, at + 24);
    if (char === '\\') {
      const escape = pattern.slice(at, at + escapeLength(pattern, at));
      const pair = surrogatePair(pattern, at);
      out += pair ?? translateEscape(escape, false);
      at += pair === undefined ? escape.length : 12;
    } else if (char === '[') {
      const { text, end } = translateClass(pattern, at);
      out += text;
      at = end;
    } else {
      if (/^\(\?(?:[=!]|<[=!])/.test(rest))
        throw new PatternError(`has look-around (${rest.slice(0, 4)})`, true);
      const repeated = /^\{(\d+)(?:,(\d*))?\}/.exec(rest);
      if (repeated && Math.max(Number(repeated[1]), Number(repeated[2] ?? 0)) > 1000)
        throw new PatternError(`repeats a part more than 1000 times (${repeated[0]}); use maxLength`, true);
      out += char === '.' ? dot : char;
      at += 1;
    }
  }
  return out;
};

/** White space and line ends of ECMA-262; RE2's `\s` has ASCII only. */
const SPACES: readonly (readonly [number, number])[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

const hex = (code: number): string => `\\x{${code.toString(16)}}`;
const range = ([from, to]: readonly [number, number]): string => `${hex(from)}-${hex(to)}`;
const IS_SPACE = SPACES.map(range).join('');
const IS_NO_SPACE = [...SPACES, [0x11_00_00, 0] as const]
  .map(([from], index) => range([(SPACES[index - 1]?.[1] ?? -1) + 1, from - 1]))
  .join('');

/** `\uD83D\uDE00`: two escapes that are one character. */
const surrogatePair = (pattern: string, at: number): string | undefined => {
  const pair = /^\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(
    pattern.slice(at, at + 12),
  );
  if (!pair) return undefined;
  const [high, low] = [Number.parseInt(pair[1] as string, 16), Number.parseInt(pair[2] as string, 16)];
  return hex(0x1_00_00 + ((high - 0xd800) << 10) + (low - 0xdc00));
};

const translateEscape = (escape: string, inClass: boolean): string => {
  const letter = escape[1] ?? '';
  switch (letter) {
    case 's':
      return inClass ? IS_SPACE : `[${IS_SPACE}]`;
    case 'S':
      return inClass ? IS_NO_SPACE : `[^${IS_SPACE}]`;
    case 'u': {
      const code = /^\\u(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{4}))$/.exec(escape);
      if (!code) throw new PatternError(`has ${escape}, which names no character`);
      return hex(Number.parseInt(code[1] ?? (code[2] as string), 16));
    }
    case 'c': {
      if (escape.length !== 3) throw new PatternError('has \\c without a letter');
      return hex(escape.charCodeAt(2) % 32);
    }
    case '0':
      return hex(0);
    case 'b':
      return inClass ? hex(8) : escape;
    case 'k':
      throw new PatternError('has a back reference (\\k)', true);
    case 'p':
    case 'P':
      return translateProperty(escape);
    default:
      if (/[1-9]/.test(letter)) throw new PatternError(`has a back reference (${escape})`, true);
      // RE2 rejects the escape of a character beyond ASCII.
      return letter > '\x7f' ? escape.slice(1) : escape;
  }
};

/** Long names of Unicode's general categories (PropertyValueAliases.txt); RE2 has the short ones. */
const CATEGORIES: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  Other: 'C',
  Control: 'Cc',
  cntrl: 'Cc',
  Format: 'Cf',
  Private_Use: 'Co',
  Letter: 'L',
  Lowercase_Letter: 'Ll',
  Modifier_Letter: 'Lm',
  Other_Letter: 'Lo',
  Titlecase_Letter: 'Lt',
  Uppercase_Letter: 'Lu',
  Mark: 'M',
  Combining_Mark: 'M',
  Spacing_Mark: 'Mc',
  Enclosing_Mark: 'Me',
  Nonspacing_Mark: 'Mn',
  Number: 'N',
  Decimal_Number: 'Nd',
  digit: 'Nd',
  Letter_Number: 'Nl',
  Other_Number: 'No',
  Punctuation: 'P',
  punct: 'P',
  Connector_Punctuation: 'Pc',
  Dash_Punctuation: 'Pd',
  Close_Punctuation: 'Pe',
  Final_Punctuation: 'Pf',
  Initial_Punctuation: 'Pi',
  Other_Punctuation: 'Po',
  Open_Punctuation: 'Ps',
  Symbol: 'S',
  Currency_Symbol: 'Sc',
  Modifier_Symbol: 'Sk',
  Math_Symbol: 'Sm',
  Other_Symbol: 'So',
  Separator: 'Z',
  Line_Separator: 'Zl',
  Paragraph_Separator: 'Zp',
  Space_Separator: 'Zs',
});

const translateProperty = (escape: string): string => {
  const named = /^\\([pP])\{(?:(?:General_Category|gc|Script|sc)=)?([A-Za-z_^]+)\}$/.exec(escape);
  if (!named) return escape;
  const [, kind, name = ''] = named;
  return `\\${kind}{${CATEGORIES[name] ?? name}}`;
};

/** @returns the class as RE2 writes it, and the index behind it */
const translateClass = (pattern: string, from: number): { readonly text: string; readonly end: number } => {
  const negated = pattern[from + 1] === '^';
  let at = from + (negated ? 2 : 1);
  // A leading `]` is a member of the class in RE2 and its end in ECMA-262.
  if (pattern[at] === ']')
    return { text: negated ? '[\\x{0}-\\x{10ffff}]' : '[^\\x{0}-\\x{10ffff}]', end: at + 1 };
  let text = negated ? '[^' : '[';
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern[at] === '\\') {
      const pair = surrogatePair(pattern, at);
      const escape = pattern.slice(at, at + escapeLength(pattern, at));
      text += pair ?? translateEscape(escape, true);
      at += pair === undefined ? escape.length : 12;
      continue;
    }
    const named = /^\[:\^?[a-z]{1,10}:\]/.exec(pattern.slice(at, at + 16));
    const plain = pattern[at] === '[' ? '\\[' : pattern[at];
    text += named ? named[0] : plain;
    at += named ? named[0].length : 1;
  }
  return { text: `${text}]`, end: at + 1 };
};
