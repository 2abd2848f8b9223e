import { type TemplateSource, templateError } from '../template-source.ts';
import { unreachable } from '../../model/unreachable.ts';
import type { Body, Branch, Command, Name, Node, Operand, Pipe, Tree } from './ast.ts';
import { lex, type Token, type TokenKind } from './lex.ts';
import { numberLiteral } from './values/number-literal.ts';
import { unquote } from './quote.ts';
import { codePoints } from '../../model/go/utf8.ts';

/** Variables of the template being parsed: the names in scope, and the number of slots needed. */
type Scope = {
  readonly names: { readonly name: string; readonly slot: number }[];
  slots: number;
  ranges: number;
};

type Keyword = 'if' | 'with' | 'range';

const newScope = (): Scope => ({ names: [{ name: '$', slot: 0 }], slots: 1, ranges: 0 });

const SHOWN: Partial<Record<TokenKind, string>> = { end: 'the end of the template' };

const show = (token: Token): string => SHOWN[token.kind] ?? JSON.stringify(token.text);

/**
 * Parses a Go template into its tree (the grammar of Go's text/template/parse).
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT when it nests deeper than maxDepth
 */
export const parse = (source: TemplateSource, maxDepth: number): Tree => {
  const tokens = lex(source);
  const definitions = new Map<string, Body>();
  let next = 0;
  let depth = 0;
  let scope = newScope();

  const bad = (at: number, message: string, hint?: string): never => {
    throw templateError('TEMPLATE_SYNTAX', source, at, message, hint);
  };
  const peek = (): Token => tokens[next] ?? (tokens.at(-1) as Token);
  const take = (): Token => {
    const token = peek();
    next += 1;
    return token;
  };
  const isKeyword = (token: Token, text: string): boolean => token.kind === 'keyword' && token.text === text;
  const expect = (kind: TokenKind, where: string): Token => {
    const token = take();
    return token.kind === kind ? token : bad(token.at, `unexpected ${show(token)} in ${where}`);
  };
  const nested = <T>(at: number, inner: () => T): T => {
    depth += 1;
    if (depth > maxDepth)
      throw templateError('TEMPLATE_LIMIT', source, at, `the template nests deeper than ${maxDepth}`);
    const result = inner();
    depth -= 1;
    return result;
  };

  // Variables

  const declare = (name: string): number => {
    const slot = scope.slots;
    scope.slots += 1;
    scope.names.push({ name, slot });
    return slot;
  };
  const use = (token: Token): number =>
    scope.names.findLast(({ name }) => name === token.text)?.slot ??
    bad(
      token.at,
      `the variable ${token.text} is not declared`,
      `Declare it first: {{ ${token.text} := ... }}`,
    );
  const scoped = <T>(inner: () => T): T => {
    const count = scope.names.length;
    const result = inner();
    scope.names.length = count;
    return result;
  };

  // Operands, commands, pipelines

  const text = (token: Token): string => {
    const inner = token.text.slice(1, -1);
    // Go drops carriage returns from raw strings.
    if (token.kind === 'raw') return inner.replaceAll('\r', '');
    return unquote(inner, '"') ?? bad(token.at, `the string ${token.text} has a wrong escape`);
  };

  const character = (token: Token): number => {
    const value = codePoints(unquote(token.text.slice(1, -1), "'") ?? '');
    const [only] = value;
    if (only === undefined || value.length !== 1)
      return bad(token.at, `${token.text} is not a single character`);
    return only.codePointAt(0) ?? 0;
  };

  const term = (): Operand | undefined => {
    const token = peek();
    const { at } = token;
    switch (token.kind) {
      case 'dot':
      case 'nil':
        take();
        return { kind: token.kind, at };
      case 'bool':
        take();
        return { kind: 'literal', at, value: token.text === 'true' };
      case 'string':
      case 'raw':
        take();
        return { kind: 'literal', at, value: text(token) };
      case 'character':
        take();
        return { kind: 'literal', at, value: character(token) };
      case 'number': {
        take();
        const value = numberLiteral(token.text);
        return {
          kind: 'literal',
          at,
          value: value ?? bad(at, `${token.text} is not a number that templates support`),
        };
      }
      case 'identifier':
        take();
        return { kind: 'function', at, name: token.text };
      case 'variable':
        take();
        return { kind: 'variable', at, slot: use(token), path: [] };
      case 'field':
        take();
        return { kind: 'field', at, path: [{ at, name: token.text.slice(1) }] };
      case 'left': {
        take();
        const pipe = nested(at, () => pipeline('parentheses', 'right'));
        return { kind: 'group', at, pipe };
      }
      case 'text':
      case 'open':
      case 'close':
      case 'keyword':
      case 'pipe':
      case 'declare':
      case 'assign':
      case 'comma':
      case 'right':
      case 'end':
        return undefined;
    }
    return unreachable(token.kind);
  };

  /** A term, and the fields that follow it without white space. */
  const operand = (): Operand | undefined => {
    const first = term();
    if (!first) return undefined;
    const path: Name[] = [];
    while (peek().kind === 'field' && !peek().spaced) {
      const token = take();
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
        return bad(path[0]?.at ?? first.at, 'a field cannot be read from a literal');
      case 'function':
      case 'group':
      case 'chain':
        return { kind: 'chain', at: first.at, of: first, path };
    }
    return unreachable(first);
  };

  const command = (): Command => {
    const { at } = peek();
    const first = operand() ?? bad(at, `unexpected ${show(peek())} where a value is expected`);
    const words: [Operand, ...Operand[]] = [first];
    for (;;) {
      const token = peek();
      if (token.kind === 'close' || token.kind === 'right' || token.kind === 'pipe') return { at, words };
      const word = token.spaced ? operand() : undefined;
      words.push(word ?? bad(token.at, `unexpected ${show(token)} behind a value`));
    }
  };

  /** `$x :=`, `$x =` or `$k, $v :=` at the start of a pipeline. Returns the slots. */
  const declarations = (where: string): readonly number[] => {
    const first = peek();
    if (first.kind !== 'variable') return [];
    const after = tokens[next + 1];
    if (after?.kind === 'declare' || after?.kind === 'assign') {
      next += 2;
      return [after.kind === 'declare' ? declare(first.text) : use(first)];
    }
    if (after?.kind !== 'comma') return [];
    if (where !== 'range') bad(first.at, 'only range sets two variables');
    const second = tokens[next + 2];
    const sign = tokens[next + 3];
    if (second?.kind !== 'variable' || (sign?.kind !== 'declare' && sign?.kind !== 'assign'))
      return bad(after.at, 'range sets variables like this: range $key, $value := ...');
    next += 4;
    return [first, second].map((token) => (sign.kind === 'declare' ? declare(token.text) : use(token)));
  };

  const pipeline = (where: string, end: 'close' | 'right'): Pipe => {
    const { at } = peek();
    const names = scope.names.length;
    const variables = declarations(where);
    // `$x := $x` reads the old $x: a declared variable is in scope only after its pipeline.
    const declared = scope.names.splice(names);
    const commands: Command[] = [];
    while (peek().kind !== end) {
      commands.push(command());
      // Go accepts a trailing | without a command.
      if (peek().kind === 'pipe') take();
    }
    take();
    const [first, ...rest] = commands;
    if (!first) return bad(at, `a value is missing in ${where}`);
    for (const { words } of rest)
      if (words[0].kind === 'literal' || words[0].kind === 'dot' || words[0].kind === 'nil')
        bad(words[0].at, 'only a function can follow |');
    scope.names.push(...declared);
    return { at, variables, commands: [first, ...rest] };
  };

  // Nodes

  type Stop = 'end' | 'else';

  /** Nodes up to {{end}} or {{else}}. That keyword is consumed, but not what follows it. */
  const body = (opened: number, where: string): { nodes: Body; stop: Stop; at: number } => {
    const nodes: Node[] = [];
    for (;;) {
      const token = peek();
      if (token.kind === 'end') bad(opened, `${where} has no {{ end }}`);
      const keyword = tokens[next + 1];
      if (token.kind === 'open' && keyword && (isKeyword(keyword, 'end') || isKeyword(keyword, 'else'))) {
        next += 2;
        return { nodes, stop: keyword.text as Stop, at: keyword.at };
      }
      nodes.push(node());
    }
  };

  /** The rest of `if` or `with`: bodies, `else if`, `else` and `end`. */
  const control = (keyword: 'if' | 'with', at: number): Node =>
    scoped(() => {
      const branches: Branch[] = [];
      for (;;) {
        const pipe = pipeline(keyword, 'close');
        // Variables declared in a body are not in scope in later branches.
        const { nodes, stop } = scoped(() => body(at, keyword));
        branches.push({ pipe, body: nodes });
        if (stop === 'end') {
          expect('close', 'end');
          return { kind: keyword, at, branches, otherwise: [] };
        }
        if (isKeyword(peek(), keyword)) {
          take();
          continue;
        }
        return { kind: keyword, at, branches, otherwise: otherwise(at, keyword) };
      }
    });

  const otherwise = (at: number, keyword: Keyword): Body => {
    expect('close', 'else');
    const last = body(at, keyword);
    if (last.stop !== 'end') bad(last.at, `${keyword} has a second {{ else }}`);
    expect('close', 'end');
    return last.nodes;
  };

  const range = (at: number): Node =>
    scoped(() => {
      const pipe = pipeline('range', 'close');
      scope.ranges += 1;
      const { nodes, stop } = scoped(() => body(at, 'range'));
      scope.ranges -= 1;
      if (stop === 'else') return { kind: 'range', at, pipe, body: nodes, otherwise: otherwise(at, 'range') };
      expect('close', 'end');
      return { kind: 'range', at, pipe, body: nodes, otherwise: [] };
    });

  const templateName = (where: string): Token => {
    const token = take();
    return token.kind === 'string' || token.kind === 'raw'
      ? token
      : bad(token.at, `${where} needs a name in quotes`);
  };

  const define = (token: Token, where: string): void => {
    const name = text(token);
    const outer = scope;
    scope = newScope();
    const { nodes, stop, at } = body(token.at, where);
    if (stop !== 'end') bad(at, `{{ else }} does not belong into ${where}`);
    expect('close', 'end');
    const empty = nodes.every((one) => one.kind === 'text' && one.text.trim() === '');
    const before = definitions.get(name);
    const beforeEmpty = before?.every((one) => one.kind === 'text' && one.text.trim() === '') ?? true;
    if (!empty && !beforeEmpty) bad(token.at, `the template ${JSON.stringify(name)} is defined twice`);
    if (beforeEmpty) definitions.set(name, nodes);
    scope = outer;
  };

  const keywordNode = (keyword: Token): Node => {
    const { at } = keyword;
    switch (keyword.text) {
      case 'if':
      case 'with':
        return nested(at, () => control(keyword.text as 'if' | 'with', at));
      case 'range':
        return nested(at, () => range(at));
      case 'break':
      case 'continue':
        if (scope.ranges === 0) bad(at, `{{ ${keyword.text} }} stands outside range`);
        expect('close', keyword.text);
        return { kind: keyword.text, at };
      case 'template': {
        const name = text(templateName('template'));
        if (peek().kind !== 'close')
          return { kind: 'template', at, name, pipe: pipeline('template', 'close') };
        take();
        return { kind: 'template', at, name, pipe: undefined };
      }
      case 'block': {
        const name = templateName('block');
        const pipe = pipeline('block', 'close');
        nested(at, () => define(name, 'block'));
        return { kind: 'template', at, name: text(name), pipe };
      }
      case 'define':
        return bad(at, '{{ define }} stands inside another block', 'Move it to the top of the template');
      default:
        return bad(at, `unexpected {{ ${keyword.text} }}`);
    }
  };

  const node = (): Node => {
    const token = take();
    if (token.kind === 'text') return { kind: 'text', at: token.at, text: token.text };
    if (peek().kind === 'keyword') return keywordNode(take());
    return { kind: 'action', at: peek().at, pipe: pipeline('an action', 'close') };
  };

  const main: Node[] = [];
  while (peek().kind !== 'end') {
    const keyword = tokens[next + 1];
    if (peek().kind === 'open' && keyword && isKeyword(keyword, 'define')) {
      next += 2;
      const name = templateName('define');
      expect('close', 'define');
      define(name, 'define');
    } else {
      main.push(node());
    }
  }
  return { main, definitions };
};
