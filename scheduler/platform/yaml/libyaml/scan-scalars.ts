import {
  column,
  fail,
  isBlank,
  isBlankOrEnd,
  isBreak,
  isBreakOrEnd,
  isDocumentMark,
  isEnd,
  peek,
  readBreak,
  readOne,
  type Scanner,
  skipBlanks,
  skipComment,
  type Token,
} from './scanner.ts';

/** Spaces and line ends between two words of a scalar: the words' lines are folded. */
type Gap = { spaces: string; first: string; more: string; hasBreak: boolean };

const newGap = (): Gap => ({ spaces: '', first: '', more: '', hasBreak: false });

const foldGap = ({ spaces, first, more, hasBreak }: Gap): string => {
  if (!hasBreak) return spaces;
  if (!first.startsWith('\n')) return first + more;
  return more === '' ? ' ' : more;
};

const readGap = (scanner: Scanner, gap: Gap, onTab: () => void): void => {
  for (;;) {
    const character = peek(scanner);
    if (isBlank(character)) {
      if (character === '\t') onTab();
      const blank = readOne(scanner);
      if (!gap.hasBreak) gap.spaces += blank;
    } else if (isBreak(character)) {
      if (gap.hasBreak) gap.more += readBreak(scanner);
      else gap.first = readBreak(scanner);
      gap.hasBreak = true;
    } else return;
  }
};

const endsPlain = (scanner: Scanner): boolean => {
  const character = peek(scanner);
  if (character === ':') return isBlankOrEnd(peek(scanner, 1));
  return scanner.flow > 0 && ',?[]{}'.includes(character);
};

export const scanPlain = (scanner: Scanner): Token => {
  const indent = scanner.indent + 1;
  let value = '';
  let gap = newGap();
  while (!isDocumentMark(scanner) && peek(scanner) !== '#') {
    while (!isBlankOrEnd(peek(scanner)) && !endsPlain(scanner)) {
      value += foldGap(gap);
      gap = newGap();
      value += readOne(scanner);
    }
    if (!isBlank(peek(scanner)) && !isBreak(peek(scanner))) break;
    readGap(scanner, gap, () => {
      if (gap.hasBreak && column(scanner) < indent) fail('found a tab character that violates indentation');
    });
    if (scanner.flow === 0 && column(scanner) < indent) break;
  }
  if (gap.hasBreak) scanner.mayBeKey = true;
  return { type: 'scalar', value, isPlain: true };
};

export const scanQuoted = (scanner: Scanner, quote: string): Token => {
  scanner.at += 1;
  let value = '';
  for (;;) {
    if (isDocumentMark(scanner)) fail('found unexpected document indicator');
    if (isEnd(scanner)) fail('found unexpected end of stream');
    const gap = newGap();
    while (!isBlankOrEnd(peek(scanner))) {
      const character = peek(scanner);
      if (quote === "'" && character === quote && peek(scanner, 1) === quote) {
        value += quote;
        scanner.at += 2;
      } else if (character === quote) {
        break;
      } else if (quote === '"' && character === '\\') {
        if (isBreak(peek(scanner, 1))) {
          scanner.at += 1;
          readBreak(scanner);
          gap.hasBreak = true;
          break;
        }
        value += readEscape(scanner);
      } else value += readOne(scanner);
    }
    if (peek(scanner) === quote) break;
    const isEscaped = gap.hasBreak;
    readGap(scanner, gap, () => undefined);
    // Nothing stands for an escaped line end.
    value += isEscaped ? gap.more : foldGap(gap);
  }
  scanner.at += 1;
  return { type: 'scalar', value, isPlain: false };
};

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['0', '\0'],
  ['a', '\x07'],
  ['b', '\b'],
  ['t', '\t'],
  ['\t', '\t'],
  ['n', '\n'],
  ['v', '\v'],
  ['f', '\f'],
  ['r', '\r'],
  ['e', '\x1b'],
  [' ', ' '],
  ['"', '"'],
  ["'", "'"],
  ['\\', '\\'],
  ['N', '\u0085'],
  ['_', '\u00a0'],
  ['L', '\u2028'],
  ['P', '\u2029'],
]);
const CODES: ReadonlyMap<string, number> = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
]);

const readEscape = (scanner: Scanner): string => {
  const letter = peek(scanner, 1);
  const length = CODES.get(letter);
  scanner.at += 2;
  if (length === undefined) return ESCAPES.get(letter) ?? fail('found unknown escape character');
  const digits = scanner.characters.slice(scanner.at, scanner.at + length).join('');
  const code = Number.parseInt(digits, 16);
  if (digits.length !== length || !/^[0-9a-fA-F]+$/.test(digits))
    fail('did not find expected hexdecimal number');
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10_ffff)
    fail('found invalid Unicode character escape code');
  scanner.at += length;
  return String.fromCodePoint(code);
};

export const scanBlock = (scanner: Scanner, isLiteral: boolean): Token => {
  scanner.at += 1;
  const header = { chomping: '', increment: 0 };
  readHeader(scanner, header);
  skipBlanks(scanner);
  skipComment(scanner);
  if (!isBreakOrEnd(peek(scanner))) fail('did not find expected comment or line break');
  readBreak(scanner);
  const given = header.increment > 0 ? Math.max(scanner.indent, 0) + header.increment : 0;
  let { indent, breaks } = readIndent(scanner, given);
  let value = '';
  let lineEnd = '';
  let beganBlank = false;
  while (column(scanner) === indent && !isEnd(scanner)) {
    const isBlankLine = isBlank(peek(scanner));
    if (!isLiteral && !beganBlank && !isBlankLine && lineEnd.startsWith('\n'))
      value += breaks === '' ? ' ' : '';
    else value += lineEnd;
    value += breaks;
    beganBlank = isBlankLine;
    while (!isBreakOrEnd(peek(scanner))) value += readOne(scanner);
    lineEnd = readBreak(scanner);
    ({ indent, breaks } = readIndent(scanner, indent));
  }
  if (header.chomping !== '-') value += lineEnd;
  if (header.chomping === '+') value += breaks;
  return { type: 'scalar', value, isPlain: false };
};

/** `|2-` and `|-2`. */
const readHeader = (scanner: Scanner, header: { chomping: string; increment: number }): void => {
  for (let turn = 0; turn < 2; turn += 1) {
    const character = peek(scanner);
    if (header.chomping === '' && (character === '+' || character === '-'))
      header.chomping = readOne(scanner);
    else if (header.increment === 0 && /[0-9]/.test(character)) {
      if (character === '0') fail('found an indentation indicator equal to 0');
      header.increment = Number(readOne(scanner));
    }
  }
};

/** The empty lines before a line of a block, and how far in it is. @param known 0 where that is to be found out */
const readIndent = (
  scanner: Scanner,
  known: number,
): { readonly indent: number; readonly breaks: string } => {
  let breaks = '';
  let most = 0;
  const isBefore = (): boolean => known === 0 || column(scanner) < known;
  for (;;) {
    while (isBefore() && peek(scanner) === ' ') scanner.at += 1;
    most = Math.max(most, column(scanner));
    if (isBefore() && peek(scanner) === '\t')
      fail('found a tab character where an indentation space is expected');
    if (!isBreak(peek(scanner))) break;
    breaks += readBreak(scanner);
  }
  return { indent: known === 0 ? Math.max(most, scanner.indent + 1, 1) : known, breaks };
};
