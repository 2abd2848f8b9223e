import { type TemplateSource, templateError } from '../template-source.ts';
import { trimWhile } from '../../model/go/trim.ts';

export type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'identifier'
  | 'keyword'
  | 'field'
  | 'variable'
  | 'dot'
  | 'nil'
  | 'bool'
  | 'string'
  | 'raw'
  | 'character'
  | 'number'
  | 'pipe'
  | 'declare'
  | 'assign'
  | 'comma'
  | 'left'
  | 'right'
  | 'end';

/** `at` is the UTF-16 offset in the template; `spaced` means that white space precedes the token. */
export type Token = {
  readonly kind: TokenKind;
  readonly at: number;
  readonly text: string;
  readonly spaced: boolean;
};

const KEYWORDS: ReadonlySet<string> = new Set([
  'block',
  'break',
  'continue',
  'define',
  'else',
  'end',
  'if',
  'range',
  'template',
  'with',
]);

const SPACE = /[ \t\r\n]/;
const WORD = /[\p{L}\p{Nd}_]+/uy;
// Matches anything that may be a number; number-literal.ts decides.
const NUMBER =
  /[-+]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][-+]?[0-9_]*)?|0[oO][0-7_]*|0[bB][01_]*|[0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9_]*)?)/y;
const STRING = /"(?:[^"\\\n]|\\[^\n])*"/y;
const CHARACTER = /'(?:[^'\\\n]|\\[^\n])*'/y;
const RAW = /`[^`]*`/y;

const SYMBOLS: Readonly<Record<string, TokenKind>> = { '=': 'assign', '|': 'pipe', ',': 'comma' };

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
};

/**
 * Splits a Go template into tokens (the language of Go's text/template). Text is already trimmed for `{{-` and `-}}`,
 * comments are removed, and the last token is `end`.
 * @throws FleetError TEMPLATE_SYNTAX
 */
export const lex = (source: TemplateSource): readonly Token[] => {
  const { text } = source;
  const tokens: Token[] = [];
  const bad = (at: number, message: string, hint?: string): never => {
    throw templateError('TEMPLATE_SYNTAX', source, at, message, hint);
  };
  const isSpace = (at: number): boolean => at < text.length && SPACE.test(text[at] ?? '');
  const skipSpace = (from: number): number => {
    let at = from;
    while (isSpace(at)) at += 1;
    return at;
  };
  const trimsLeft = (at: number): boolean => text[at] === '-' && isSpace(at + 1);
  const trimsRight = (at: number): boolean => isSpace(at) && text.startsWith('-}}', at + 1);
  // A name needs a terminator after it, so that `.use-case` is an error and not a subtraction.
  const checkEnd = (at: number): void => {
    if (at >= text.length || /[ \t\r\n.,|:()]/.test(text[at] ?? '') || text.startsWith('}}', at)) return;
    const hint =
      text[at] === '-'
        ? 'A name with a hyphen is read with index: {{ index .Labels "use-case" }}'
        : undefined;
    bad(at, `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))} in a name`, hint);
  };

  /** Reads the text up to the next action and returns where that starts; `from` is after white space that `-}}` trims. */
  const lexText = (from: number): number => {
    const open = text.indexOf('{{', from);
    const raw = text.slice(from, open === -1 ? text.length : open);
    const value =
      open !== -1 && trimsLeft(open + 2) ? trimWhile(raw, (character) => SPACE.test(character), false) : raw;
    if (value !== '') tokens.push({ kind: 'text', at: from, text: value, spaced: false });
    return open === -1 ? text.length : open;
  };

  const lexComment = (open: number, from: number): number => {
    const end = text.indexOf('*/', from);
    if (end === -1) bad(open, 'this comment is never closed', 'Close it with */}}');
    const after = end + 2;
    if (text.startsWith('}}', after)) return after + 2;
    if (trimsRight(after)) return skipSpace(after + 4);
    return bad(after, 'a comment must fill its action', 'Write }} right behind */');
  };

  const lexAction = (open: number): number => {
    let at = trimsLeft(open + 2) ? open + 4 : open + 2;
    // A comment is only allowed directly after the delimiter or its trim marker.
    if (text.startsWith('/*', at)) return lexComment(open, at + 2);
    tokens.push({ kind: 'open', at: open, text: '{{', spaced: false });
    let parentheses = 0;
    let spaced = false;
    const push = (kind: TokenKind, end: number): number => {
      tokens.push({ kind, at, text: text.slice(at, end), spaced });
      spaced = false;
      return end;
    };
    while (at < text.length) {
      if (text.startsWith('}}', at) || trimsRight(at)) {
        if (parentheses > 0) bad(at, 'a parenthesis is not closed');
        tokens.push({ kind: 'close', at, text: '}}', spaced });
        return text.startsWith('}}', at) ? at + 2 : skipSpace(at + 4);
      }
      if (isSpace(at)) {
        spaced = true;
        at += 1;
        continue;
      }
      if (text[at] === '(') parentheses += 1;
      if (text[at] === ')') {
        parentheses -= 1;
        if (parentheses < 0) bad(at, 'this parenthesis was never opened');
      }
      at = lexToken(at, push);
    }
    return bad(open, 'this action is never closed', 'Close it with }}');
  };

  const literal = (at: number, pattern: RegExp, what: string): number => {
    const found = matchAt(pattern, text, at);
    if (found === undefined) return bad(at, `this ${what} is never closed`);
    return at + found.length;
  };

  const lexToken = (at: number, push: (kind: TokenKind, end: number) => number): number => {
    const first = text[at] ?? '';
    const symbol = SYMBOLS[first];
    if (symbol !== undefined) return push(symbol, at + 1);
    switch (first) {
      case ':':
        if (text[at + 1] !== '=') bad(at, 'expected := here');
        return push('declare', at + 2);
      case '(':
        return push('left', at + 1);
      case ')':
        return push('right', at + 1);
      case '"':
        return push('string', literal(at, STRING, 'string'));
      case '`':
        return push('raw', literal(at, RAW, 'raw string'));
      case "'":
        return push('character', literal(at, CHARACTER, 'character'));
      case '$':
      case '.':
        if (first === '.' && /[0-9]/.test(text[at + 1] ?? '')) break;
        return lexName(at, first, push);
      default:
    }
    return /[-+.0-9]/.test(first) ? lexNumber(at, push) : lexWord(at, push);
  };

  const lexWord = (at: number, push: (kind: TokenKind, end: number) => number): number => {
    const word = matchAt(WORD, text, at);
    if (word === undefined)
      return bad(
        at,
        `unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))} in an action`,
      );
    checkEnd(at + word.length);
    if (KEYWORDS.has(word)) return push('keyword', at + word.length);
    if (word === 'true' || word === 'false') return push('bool', at + word.length);
    return push(word === 'nil' ? 'nil' : 'identifier', at + word.length);
  };

  const lexName = (at: number, first: string, push: (kind: TokenKind, end: number) => number): number => {
    const word = matchAt(WORD, text, at + 1) ?? '';
    const end = at + 1 + word.length;
    checkEnd(end);
    if (first === '$') return push('variable', end);
    return push(word === '' ? 'dot' : 'field', end);
  };

  const lexNumber = (at: number, push: (kind: TokenKind, end: number) => number): number => {
    const found = matchAt(NUMBER, text, at) ?? '';
    const end = at + found.length;
    const rest = matchAt(WORD, text, end);
    if (!/[0-9]/.test(found) || rest !== undefined)
      bad(at, `${JSON.stringify(found + (rest ?? ''))} is not a number`);
    return push('number', end);
  };

  let at = 0;
  while (at < text.length) {
    const open = lexText(at);
    if (open >= text.length) break;
    at = lexAction(open);
  }
  tokens.push({ kind: 'end', at: text.length, text: '', spaced: false });
  return tokens;
};
