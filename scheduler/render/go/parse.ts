import type { TemplateSource } from '../template-source.ts';
import type { Body, Branch, Node, Tree } from './ast.ts';
import type { Token } from './lex.ts';
import { pipeline, text } from './parse-pipe.ts';
import {
  ahead,
  bad,
  createParser,
  expect,
  isKeyword,
  nested,
  newScope,
  type Parser,
  peek,
  scoped,
  skip,
  take,
} from './parser.ts';

type Keyword = 'if' | 'with' | 'range';

/**
 * Parses a Go template into its tree (the grammar of Go's text/template/parse).
 * @throws FleetError TEMPLATE_SYNTAX, TEMPLATE_LIMIT when it nests deeper than maxDepth
 */
export const parse = (source: TemplateSource, maxDepth: number): Tree => {
  const parser = createParser(source, maxDepth);
  const main: Node[] = [];
  while (peek(parser).kind !== 'end') {
    const keyword = ahead(parser, 1);
    if (peek(parser).kind === 'open' && keyword && isKeyword(keyword, 'define')) {
      skip(parser, 2);
      const name = templateName(parser, 'define');
      expect(parser, 'close', 'define');
      define(parser, name, 'define');
    } else {
      main.push(node(parser));
    }
  }
  return { main, definitions: parser.definitions };
};

type Stop = 'end' | 'else';

/** Nodes up to {{end}} or {{else}}. That keyword is consumed, but not what follows it. */
const body = (parser: Parser, opened: number, where: string): { nodes: Body; stop: Stop; at: number } => {
  const nodes: Node[] = [];
  for (;;) {
    const token = peek(parser);
    if (token.kind === 'end') bad(parser, opened, `${where} has no {{ end }}`);
    const keyword = ahead(parser, 1);
    if (token.kind === 'open' && keyword && (isKeyword(keyword, 'end') || isKeyword(keyword, 'else'))) {
      skip(parser, 2);
      return { nodes, stop: keyword.text as Stop, at: keyword.at };
    }
    nodes.push(node(parser));
  }
};

/** The rest of `if` or `with`: bodies, `else if`, `else` and `end`. */
const control = (parser: Parser, keyword: 'if' | 'with', at: number): Node =>
  scoped(parser, () => {
    const branches: Branch[] = [];
    for (;;) {
      const pipe = pipeline(parser, keyword, 'close');
      // Variables declared in a body are not in scope in later branches.
      const { nodes, stop } = scoped(parser, () => body(parser, at, keyword));
      branches.push({ pipe, body: nodes });
      if (stop === 'end') {
        expect(parser, 'close', 'end');
        return { kind: keyword, at, branches, otherwise: [] };
      }
      if (isKeyword(peek(parser), keyword)) {
        take(parser);
        continue;
      }
      return { kind: keyword, at, branches, otherwise: otherwise(parser, at, keyword) };
    }
  });

const otherwise = (parser: Parser, at: number, keyword: Keyword): Body => {
  expect(parser, 'close', 'else');
  const last = body(parser, at, keyword);
  if (last.stop !== 'end') bad(parser, last.at, `${keyword} has a second {{ else }}`);
  expect(parser, 'close', 'end');
  return last.nodes;
};

const range = (parser: Parser, at: number): Node =>
  scoped(parser, () => {
    const pipe = pipeline(parser, 'range', 'close');
    parser.scope.ranges += 1;
    const { nodes, stop } = scoped(parser, () => body(parser, at, 'range'));
    parser.scope.ranges -= 1;
    if (stop === 'else')
      return { kind: 'range', at, pipe, body: nodes, otherwise: otherwise(parser, at, 'range') };
    expect(parser, 'close', 'end');
    return { kind: 'range', at, pipe, body: nodes, otherwise: [] };
  });

const templateName = (parser: Parser, where: string): Token => {
  const token = take(parser);
  return token.kind === 'string' || token.kind === 'raw'
    ? token
    : bad(parser, token.at, `${where} needs a name in quotes`);
};

const define = (parser: Parser, token: Token, where: string): void => {
  const name = text(parser, token);
  const outer = parser.scope;
  parser.scope = newScope();
  const { nodes, stop, at } = body(parser, token.at, where);
  if (stop !== 'end') bad(parser, at, `{{ else }} does not belong into ${where}`);
  expect(parser, 'close', 'end');
  const empty = nodes.every((one) => one.kind === 'text' && one.text.trim() === '');
  const before = parser.definitions.get(name);
  const beforeEmpty = before?.every((one) => one.kind === 'text' && one.text.trim() === '') ?? true;
  if (!empty && !beforeEmpty) bad(parser, token.at, `the template ${JSON.stringify(name)} is defined twice`);
  if (beforeEmpty) parser.definitions.set(name, nodes);
  parser.scope = outer;
};

const keywordNode = (parser: Parser, keyword: Token): Node => {
  const { at } = keyword;
  switch (keyword.text) {
    case 'if':
    case 'with':
      return nested(parser, at, () => control(parser, keyword.text as 'if' | 'with', at));
    case 'range':
      return nested(parser, at, () => range(parser, at));
    case 'break':
    case 'continue':
      if (parser.scope.ranges === 0) bad(parser, at, `{{ ${keyword.text} }} stands outside range`);
      expect(parser, 'close', keyword.text);
      return { kind: keyword.text, at };
    case 'template': {
      const name = text(parser, templateName(parser, 'template'));
      if (peek(parser).kind !== 'close')
        return { kind: 'template', at, name, pipe: pipeline(parser, 'template', 'close') };
      take(parser);
      return { kind: 'template', at, name, pipe: undefined };
    }
    case 'block': {
      const name = templateName(parser, 'block');
      const pipe = pipeline(parser, 'block', 'close');
      nested(parser, at, () => define(parser, name, 'block'));
      return { kind: 'template', at, name: text(parser, name), pipe };
    }
    case 'define':
      return bad(
        parser,
        at,
        '{{ define }} stands inside another block',
        'Move it to the top of the template',
      );
    default:
      return bad(parser, at, `unexpected {{ ${keyword.text} }}`);
  }
};

const node = (parser: Parser): Node => {
  const token = take(parser);
  if (token.kind === 'text') return { kind: 'text', at: token.at, text: token.text };
  if (peek(parser).kind === 'keyword') return keywordNode(parser, take(parser));
  return { kind: 'action', at: peek(parser).at, pipe: pipeline(parser, 'an action', 'close') };
};
