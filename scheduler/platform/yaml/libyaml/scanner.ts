/** What a text is cut into. `handle` and `suffix` are a tag's; a directive has its name in `handle`. */
export type Token = {
  readonly type: TokenType;
  readonly value?: string;
  readonly isPlain?: boolean;
  readonly handle?: string;
  readonly suffix?: string;
};

export type TokenType =
  | 'stream-end'
  | 'version'
  | 'tag-directive'
  | 'document-start'
  | 'document-end'
  | 'block-sequence'
  | 'block-mapping'
  | 'block-end'
  | '['
  | ']'
  | '{'
  | '}'
  | ','
  | '-'
  | 'key'
  | 'value'
  | 'alias'
  | 'anchor'
  | 'tag'
  | 'scalar';

/** The place of a token that a `:` behind it would make a key. */
type SimpleKey = {
  possible: boolean;
  required: boolean;
  token: number;
  line: number;
  at: number;
  column: number;
};

export type Scanner = {
  readonly characters: readonly string[];
  at: number;
  line: number;
  lineStart: number;
  flow: number;
  indent: number;
  readonly indents: number[];
  readonly keys: SimpleKey[];
  readonly keyOfToken: Map<number, number>;
  mayBeKey: boolean;
  readonly tokens: Token[];
  /** How many tokens were taken. */
  taken: number;
};

/** The text is not YAML as libyaml reads it. */
export class YamlFault extends Error {}

export const fail = (why: string): never => {
  throw new YamlFault(why);
};

/** What libyaml's reader refuses. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/;

const END = '\0';

export const newScanner = (text: string): Scanner => {
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (FORBIDDEN.test(source) || !source.isWellFormed()) fail('control characters are not allowed');
  return {
    characters: Array.from(source),
    at: 0,
    line: 0,
    lineStart: 0,
    flow: 0,
    indent: -1,
    indents: [],
    keys: [newKey()],
    keyOfToken: new Map(),
    mayBeKey: true,
    tokens: [],
    taken: 0,
  };
};

const newKey = (): SimpleKey => ({ possible: false, required: false, token: 0, line: 0, at: 0, column: 0 });

export const peek = ({ characters, at }: Scanner, ahead = 0): string => characters[at + ahead] ?? END;
export const column = ({ at, lineStart }: Scanner): number => at - lineStart;

export const isBlank = (character: string): boolean => character === ' ' || character === '\t';
export const isBreak = (character: string): boolean =>
  character === '\n' ||
  character === '\r' ||
  character === '\u0085' ||
  character === '\u2028' ||
  character === '\u2029';
export const isBreakOrEnd = (character: string): boolean => isBreak(character) || character === END;
export const isBlankOrEnd = (character: string): boolean => isBlank(character) || isBreakOrEnd(character);
export const isEnd = (scanner: Scanner): boolean => peek(scanner) === END;

export const readOne = (scanner: Scanner): string => {
  const character = peek(scanner);
  scanner.at += 1;
  return character;
};

/** A line's end, as it is kept; nothing at the end of the text. */
export const readBreak = (scanner: Scanner): string => {
  const character = peek(scanner);
  if (!isBreak(character)) return '';
  scanner.at += character === '\r' && peek(scanner, 1) === '\n' ? 2 : 1;
  scanner.line += 1;
  scanner.lineStart = scanner.at;
  return character === '\u2028' || character === '\u2029' ? character : '\n';
};

export const skipBlanks = (scanner: Scanner): void => {
  while (isBlank(peek(scanner))) scanner.at += 1;
};

export const skipComment = (scanner: Scanner): void => {
  if (peek(scanner) === '#') while (!isBreakOrEnd(peek(scanner))) scanner.at += 1;
};

/** `---` or `...` at the beginning of a line. */
export const isDocumentMark = (scanner: Scanner): boolean =>
  column(scanner) === 0 &&
  (peek(scanner) === '-' || peek(scanner) === '.') &&
  peek(scanner) === peek(scanner, 1) &&
  peek(scanner) === peek(scanner, 2) &&
  isBlankOrEnd(peek(scanner, 3));

/** Puts a token before the `place`-th that waits; behind all of them where that has been taken. */
export const put = ({ tokens }: Scanner, token: Token, place = -1): void => {
  if (place < 0) tokens.push(token);
  else tokens.splice(place, 0, token);
};

/** Longest key without a `?`. */
const MAX_KEY = 1024;

export const isValidKey = (scanner: Scanner, key: SimpleKey): boolean => {
  if (!key.possible) return false;
  if (key.line >= scanner.line && key.at + MAX_KEY >= scanner.at) return true;
  if (key.required) fail("could not find expected ':'");
  key.possible = false;
  return false;
};

export const lastKey = ({ keys }: Scanner): SimpleKey => keys.at(-1) as SimpleKey;

export const saveKey = (scanner: Scanner): void => {
  if (!scanner.mayBeKey) return;
  removeKey(scanner);
  const token = scanner.taken + scanner.tokens.length;
  Object.assign(lastKey(scanner), {
    possible: true,
    required: scanner.flow === 0 && scanner.indent === column(scanner),
    token,
    line: scanner.line,
    at: scanner.at,
    column: column(scanner),
  });
  scanner.keyOfToken.set(token, scanner.keys.length - 1);
};

export const removeKey = (scanner: Scanner): void => {
  const key = lastKey(scanner);
  if (!key.possible) return;
  if (key.required) fail("could not find expected ':'");
  key.possible = false;
  scanner.keyOfToken.delete(key.token);
};

const MAX_FLOW = 10_000;

export const openFlow = (scanner: Scanner): void => {
  scanner.keys.push({ ...newKey(), token: scanner.taken + scanner.tokens.length });
  scanner.flow += 1;
  if (scanner.flow > MAX_FLOW) fail('nests too deep');
};

export const closeFlow = (scanner: Scanner): void => {
  if (scanner.flow === 0) return;
  scanner.flow -= 1;
  scanner.keyOfToken.delete(lastKey(scanner).token);
  scanner.keys.pop();
};

/** Opens a block further in. @param token the number of the token that begins it */
export const rollIndent = (
  scanner: Scanner,
  to: number,
  type: 'block-sequence' | 'block-mapping',
  token = -1,
): void => {
  if (scanner.flow > 0 || scanner.indent >= to) return;
  scanner.indents.push(scanner.indent);
  scanner.indent = to;
  if (scanner.indents.length > MAX_FLOW) fail('nests too deep');
  put(scanner, { type }, token < 0 ? -1 : token - scanner.taken);
};

export const unrollIndent = (scanner: Scanner, to: number): void => {
  if (scanner.flow > 0) return;
  while (scanner.indent > to) {
    put(scanner, { type: 'block-end' });
    scanner.indent = scanner.indents.pop() as number;
  }
};
