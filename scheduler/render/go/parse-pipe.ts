import type { Command, Name, Operand, Pipe } from './ast.ts';
import { codePoints } from '../../model/go/utf8.ts';
import { unreachable } from '../../model/unreachable.ts';
import type { Token } from './lex.ts';
import { ahead, bad, declare, nested, type Parser, peek, show, skip, take, use } from './parser.ts';
import { unquote } from './quote.ts';
import { numberLiteral } from './values/number-literal.ts';

/** The text of a token in quotes. */
export const text = (parser: Parser, token: Token): string => {
  const inner = token.text.slice(1, -1);
  // Go drops carriage returns from raw strings.
  if (token.kind === 'raw') return inner.replaceAll('\r', '');
  return unquote(inner, '"') ?? bad(parser, token.at, `the string ${token.text} has a wrong escape`);
};

const character = (parser: Parser, token: Token): number => {
  const value = codePoints(unquote(token.text.slice(1, -1), "'") ?? '');
  const [only] = value;
  if (only === undefined || value.length !== 1)
    return bad(parser, token.at, `${token.text} is not a single character`);
  return only.codePointAt(0) ?? 0;
};

type ReadTerm = (parser: Parser, token: Token) => Operand;

const number: ReadTerm = (parser, { at, text: written }) => {
  const value = numberLiteral(written);
  const literal = value ?? bad(parser, at, `${written} is not a number that templates support`);
  return { kind: 'literal', at, value: literal };
};

const quoted: ReadTerm = (parser, token) => ({
  kind: 'literal',
  at: token.at,
  value: text(parser, token),
});

/** The reader of each token that begins a term. */
const TERMS: Readonly<Record<Token['kind'], ReadTerm | undefined>> = {
  dot: (_, { at }) => ({ kind: 'dot', at }),
  nil: (_, { at }) => ({ kind: 'nil', at }),
  bool: (_, token) => ({ kind: 'literal', at: token.at, value: token.text === 'true' }),
  string: quoted,
  raw: quoted,
  character: (parser, token) => ({ kind: 'literal', at: token.at, value: character(parser, token) }),
  number,
  identifier: (_, token) => ({ kind: 'function', at: token.at, name: token.text }),
  variable: (parser, token) => ({ kind: 'variable', at: token.at, slot: use(parser, token), path: [] }),
  field: (_, { at, text: written }) => ({ kind: 'field', at, path: [{ at, name: written.slice(1) }] }),
  left: (parser, { at }) => {
    const pipe = nested(parser, at, () => pipeline(parser, 'parentheses', 'right'));
    return { kind: 'group', at, pipe };
  },
  text: undefined,
  open: undefined,
  close: undefined,
  keyword: undefined,
  pipe: undefined,
  declare: undefined,
  assign: undefined,
  comma: undefined,
  right: undefined,
  end: undefined,
};

const term = (parser: Parser): Operand | undefined => {
  const token = peek(parser);
  const read = TERMS[token.kind];
  if (!read) return undefined;
  take(parser);
  return read(parser, token);
};

/** A term, and the fields that follow it without white space. */
const operand = (parser: Parser): Operand | undefined => {
  const first = term(parser);
  if (!first) return undefined;
  const path: Name[] = [];
  while (peek(parser).kind === 'field' && !peek(parser).spaced) {
    const token = take(parser);
    path.push({ at: token.at, name: token.text.slice(1) });
  }
  if (path.length === 0) return first;
  switch (first.kind) {
    case 'field':
    case 'variable':
      return { ...first, path: [...first.path, ...path] };
    case 'dot':
    case 'nil':
    case 'literal':
      return bad(parser, path[0]?.at ?? first.at, 'a field cannot be read from a literal');
    case 'function':
    case 'group':
    case 'chain':
      return { kind: 'chain', at: first.at, of: first, path };
  }
  return unreachable(first);
};

const command = (parser: Parser): Command => {
  const { at } = peek(parser);
  const first =
    operand(parser) ?? bad(parser, at, `unexpected ${show(peek(parser))} where a value is expected`);
  const words: [Operand, ...Operand[]] = [first];
  for (;;) {
    const token = peek(parser);
    if (token.kind === 'close' || token.kind === 'right' || token.kind === 'pipe') return { at, words };
    const word = token.spaced ? operand(parser) : undefined;
    words.push(word ?? bad(parser, token.at, `unexpected ${show(token)} behind a value`));
  }
};

/** `$x :=`, `$x =` or `$k, $v :=` at the start of a pipeline. Returns the slots. */
const declarations = (parser: Parser, where: string): readonly number[] => {
  const first = peek(parser);
  if (first.kind !== 'variable') return [];
  const after = ahead(parser, 1);
  if (after?.kind === 'declare' || after?.kind === 'assign') {
    skip(parser, 2);
    return [after.kind === 'declare' ? declare(parser, first.text) : use(parser, first)];
  }
  if (after?.kind !== 'comma') return [];
  if (where !== 'range') bad(parser, first.at, 'only range sets two variables');
  const second = ahead(parser, 2);
  const sign = ahead(parser, 3);
  if (second?.kind !== 'variable' || (sign?.kind !== 'declare' && sign?.kind !== 'assign'))
    return bad(parser, after.at, 'range sets variables like this: range $key, $value := ...');
  skip(parser, 4);
  return [first, second].map((token) =>
    sign.kind === 'declare' ? declare(parser, token.text) : use(parser, token),
  );
};

/** A pipeline up to `end`, which is consumed. @param where names the action in messages */
export const pipeline = (parser: Parser, where: string, end: 'close' | 'right'): Pipe => {
  const { at } = peek(parser);
  const names = parser.scope.names.length;
  const variables = declarations(parser, where);
  // `$x := $x` reads the old $x: a declared variable is in scope only after its pipeline.
  const declared = parser.scope.names.splice(names);
  const commands: Command[] = [];
  while (peek(parser).kind !== end) {
    commands.push(command(parser));
    // Go accepts a trailing | without a command.
    if (peek(parser).kind === 'pipe') take(parser);
  }
  take(parser);
  const [first, ...rest] = commands;
  if (!first) return bad(parser, at, `a value is missing in ${where}`);
  for (const { words } of rest)
    if (words[0].kind === 'literal' || words[0].kind === 'dot' || words[0].kind === 'nil')
      bad(parser, words[0].at, 'only a function can follow |');
  parser.scope.names.push(...declared);
  return { at, variables, commands: [first, ...rest] };
};
