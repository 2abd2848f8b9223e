import type { Body } from './ast.ts';
import { templateError, type TemplateSource } from '../template-source.ts';
import { lex, type Token, type TokenKind } from './lex.ts';

/** Variables of the template being parsed: the names in scope, and the number of slots needed. */
type Scope = {
  readonly names: { readonly name: string; readonly slot: number }[];
  slots: number;
  ranges: number;
};

/** A template that is being parsed: its tokens, the next one, and the variables in scope. */
export type Parser = {
  readonly source: TemplateSource;
  readonly maxDepth: number;
  readonly tokens: readonly Token[];
  readonly definitions: Map<string, Body>;
  next: number;
  depth: number;
  scope: Scope;
};

export const newScope = (): Scope => ({ names: [{ name: '$', slot: 0 }], slots: 1, ranges: 0 });

/** @throws FleetError TEMPLATE_SYNTAX */
export const createParser = (source: TemplateSource, maxDepth: number): Parser => ({
  source,
  maxDepth,
  tokens: lex(source),
  definitions: new Map(),
  next: 0,
  depth: 0,
  scope: newScope(),
});

/** @throws FleetError TEMPLATE_SYNTAX, always */
export const bad = ({ source }: Parser, at: number, message: string, hint?: string): never => {
  throw templateError('TEMPLATE_SYNTAX', source, at, message, hint);
};

const SHOWN: Partial<Record<TokenKind, string>> = { end: 'the end of the template' };

/** A token, as messages name it. */
export const show = (token: Token): string => SHOWN[token.kind] ?? JSON.stringify(token.text);

export const peek = ({ tokens, next }: Parser): Token => tokens[next] ?? (tokens.at(-1) as Token);

/** The token `count` places after the next one. */
export const ahead = ({ tokens, next }: Parser, count: number): Token | undefined => tokens[next + count];

export const skip = (parser: Parser, count: number): void => {
  parser.next += count;
};

export const take = (parser: Parser): Token => {
  const token = peek(parser);
  parser.next += 1;
  return token;
};

export const isKeyword = (token: Token, text: string): boolean =>
  token.kind === 'keyword' && token.text === text;

export const expect = (parser: Parser, kind: TokenKind, where: string): Token => {
  const token = take(parser);
  return token.kind === kind ? token : bad(parser, token.at, `unexpected ${show(token)} in ${where}`);
};

/** @throws FleetError TEMPLATE_LIMIT when the template nests deeper than its limit */
export const nested = <T>(parser: Parser, at: number, inner: () => T): T => {
  const { source, maxDepth } = parser;
  parser.depth += 1;
  if (parser.depth > maxDepth)
    throw templateError('TEMPLATE_LIMIT', source, at, `the template nests deeper than ${maxDepth}`);
  const result = inner();
  parser.depth -= 1;
  return result;
};

/** Declares a variable. Returns its slot. */
export const declare = ({ scope }: Parser, name: string): number => {
  const slot = scope.slots;
  scope.slots += 1;
  scope.names.push({ name, slot });
  return slot;
};

/** The slot of a declared variable. */
export const use = (parser: Parser, token: Token): number =>
  parser.scope.names.findLast(({ name }) => name === token.text)?.slot ??
  bad(
    parser,
    token.at,
    `the variable ${token.text} is not declared`,
    `Declare it first: {{ ${token.text} := ... }}`,
  );

/** Variables that `inner` declares are out of scope after it. */
export const scoped = <T>({ scope }: Parser, inner: () => T): T => {
  const count = scope.names.length;
  const result = inner();
  scope.names.length = count;
  return result;
};
