import { nextToken, takeToken } from './next-token.ts';
import { fail, newScanner, type Scanner, type TokenType } from './scanner.ts';

/** A node as yaml.v2 has it. `tag` is empty where there is none. */
export type YamlNode =
  | { readonly kind: 'scalar'; readonly value: string; readonly tag: string; readonly isImplicit: boolean }
  | { readonly kind: 'list'; readonly items: YamlNode[] }
  | { readonly kind: 'mapping'; readonly pairs: [YamlNode, YamlNode][] }
  | { readonly kind: 'alias'; readonly target: YamlNode };

type Parser = {
  readonly scanner: Scanner;
  readonly anchors: Map<string, YamlNode>;
  readonly handles: Map<string, string>;
  nodes: number;
};

/** Deeper or larger ones are nobody's configuration. */
const MAX_DEPTH = 64;
const MAX_NODES = 100_000;

/**
 * The first document of a text as gopkg.in/yaml.v2 2.4.0 reads it, a port of its scanner and parser (libyaml's). Nothing is read behind
 * the token that follows the document, so that what comes later may be anything.
 * @returns undefined for a text without a document
 * @throws YamlFault where yaml.v2 refuses the text, and for more than 100,000 values or 64 levels
 */
export const parseFirstDocument = (text: string): YamlNode | undefined => {
  const parser: Parser = { scanner: newScanner(text), anchors: new Map(), handles: new Map(), nodes: 0 };
  let isExplicit = false;
  const seen = new Set<string>();
  for (; is(parser, 'version', 'tag-directive'); take(parser)) {
    const { type, value = '', handle = '', suffix = '' } = nextToken(parser.scanner);
    const name = type === 'version' ? type : handle;
    if (seen.has(name)) fail('found duplicate directive');
    seen.add(name);
    if (type === 'version' && value !== '1.1') fail('found incompatible YAML document');
    if (type === 'tag-directive') parser.handles.set(handle, suffix);
  }
  for (const [handle, prefix] of DEFAULT_HANDLES)
    if (!parser.handles.has(handle)) parser.handles.set(handle, prefix);
  if (is(parser, 'document-start')) {
    isExplicit = true;
    take(parser);
  } else if (seen.size > 0) fail('did not find expected <document start>');
  if (!isExplicit && is(parser, 'stream-end')) return undefined;
  const root =
    isExplicit && is(parser, 'version', 'tag-directive', 'document-start', 'document-end', 'stream-end')
      ? EMPTY
      : parseNode(parser, 0, { block: true });
  // What follows is looked at, and no more.
  nextToken(parser.scanner);
  return root;
};

const DEFAULT_HANDLES = [
  ['!', '!'],
  ['!!', 'tag:yaml.org,2002:'],
] as const;

const EMPTY = { kind: 'scalar', value: '', tag: '', isImplicit: true } as const;

const is = ({ scanner }: Parser, ...types: readonly TokenType[]): boolean =>
  types.includes(nextToken(scanner).type);
const take = ({ scanner }: Parser): void => takeToken(scanner);

type Context = { readonly block: boolean; readonly indentless?: boolean };

const parseNode = (parser: Parser, depth: number, { block, indentless = false }: Context): YamlNode => {
  parser.nodes += 1;
  if (depth > MAX_DEPTH || parser.nodes > MAX_NODES) fail('too much for one value');
  if (is(parser, 'alias')) {
    const target = parser.anchors.get(nextToken(parser.scanner).value ?? '') ?? fail('unknown anchor');
    take(parser);
    return { kind: 'alias', target };
  }
  const { anchor, tag } = parseProperties(parser);
  const known = <Node extends YamlNode>(node: Node): Node => {
    if (anchor !== undefined) parser.anchors.set(anchor, node);
    return node;
  };
  const { type, value = '', isPlain } = nextToken(parser.scanner);
  if (indentless && type === '-')
    return parseEntries(parser, depth, known({ kind: 'list', items: [] }), false);
  if (type === 'scalar') {
    take(parser);
    return known({ kind: 'scalar', value, tag, isImplicit: (tag === '' && isPlain === true) || tag === '!' });
  }
  if (type === '[') return parseFlowList(parser, depth, known({ kind: 'list', items: [] }));
  if (type === '{') return parseFlowMapping(parser, depth, known({ kind: 'mapping', pairs: [] }));
  if (block && type === 'block-sequence') {
    take(parser);
    return parseEntries(parser, depth, known({ kind: 'list', items: [] }), true);
  }
  if (block && type === 'block-mapping')
    return parseBlockMapping(parser, depth, known({ kind: 'mapping', pairs: [] }));
  if (anchor === undefined && tag === '') fail('did not find expected node content');
  return known({ kind: 'scalar', value: '', tag, isImplicit: tag === '' });
};

const parseProperties = (parser: Parser): { readonly anchor: string | undefined; readonly tag: string } => {
  let anchor: string | undefined;
  let tag = '';
  const readAnchor = (): void => {
    if (!is(parser, 'anchor')) return;
    anchor = nextToken(parser.scanner).value;
    take(parser);
  };
  readAnchor();
  if (is(parser, 'tag')) {
    const { handle = '', suffix = '' } = nextToken(parser.scanner);
    take(parser);
    const prefix = handle === '' ? '' : (parser.handles.get(handle) ?? '');
    tag = prefix + suffix;
    if (handle !== '' && !parser.handles.has(handle)) fail('found undefined tag handle');
    if (anchor === undefined) readAnchor();
  }
  return { anchor, tag };
};

type List = Extract<YamlNode, { kind: 'list' }>;
type Mapping = Extract<YamlNode, { kind: 'mapping' }>;

/** The entries of a block list, which has an end of its own unless it stands as far in as its key. */
const parseEntries = (parser: Parser, depth: number, list: List, hasEnd: boolean): List => {
  const ends: readonly TokenType[] = hasEnd ? ['-', 'block-end'] : ['-', 'key', 'value', 'block-end'];
  while (is(parser, '-')) {
    take(parser);
    list.items.push(is(parser, ...ends) ? EMPTY : parseNode(parser, depth + 1, { block: true }));
  }
  if (!hasEnd) return list;
  if (!is(parser, 'block-end')) fail("did not find expected '-' indicator");
  take(parser);
  return list;
};

const parseBlockMapping = (parser: Parser, depth: number, mapping: Mapping): Mapping => {
  take(parser);
  const part = (): YamlNode => {
    take(parser);
    return is(parser, 'key', 'value', 'block-end')
      ? EMPTY
      : parseNode(parser, depth + 1, { block: true, indentless: true });
  };
  while (is(parser, 'key')) {
    const key = part();
    mapping.pairs.push([key, is(parser, 'value') ? part() : EMPTY]);
  }
  if (!is(parser, 'block-end')) fail('did not find expected key');
  take(parser);
  return mapping;
};

const parseFlowList = (parser: Parser, depth: number, list: List): List => {
  take(parser);
  const flow = (): YamlNode => parseNode(parser, depth + 1, { block: false });
  for (let isFirst = true; !is(parser, ']'); isFirst = false) {
    if (!isFirst) takeComma(parser, ']');
    if (is(parser, ']')) break;
    if (!is(parser, 'key')) {
      list.items.push(flow());
      continue;
    }
    take(parser);
    let key: YamlNode = EMPTY;
    if (!is(parser, 'value', ',', ']')) key = flow();
    // yaml.v2 takes the token that ends an empty key with it.
    else take(parser);
    let value: YamlNode = EMPTY;
    if (is(parser, 'value')) {
      take(parser);
      if (!is(parser, ',', ']')) value = flow();
    }
    list.items.push({ kind: 'mapping', pairs: [[key, value]] });
  }
  take(parser);
  return list;
};

const parseFlowMapping = (parser: Parser, depth: number, mapping: Mapping): Mapping => {
  take(parser);
  const flow = (...ends: readonly TokenType[]): YamlNode =>
    is(parser, ...ends) ? EMPTY : parseNode(parser, depth + 1, { block: false });
  for (let isFirst = true; !is(parser, '}'); isFirst = false) {
    if (!isFirst) takeComma(parser, '}');
    if (is(parser, '}')) break;
    if (!is(parser, 'key')) {
      mapping.pairs.push([flow(), EMPTY]);
      continue;
    }
    take(parser);
    const key = flow('value', ',', '}');
    let value: YamlNode = EMPTY;
    if (is(parser, 'value')) {
      take(parser);
      value = flow(',', '}');
    }
    mapping.pairs.push([key, value]);
  }
  take(parser);
  return mapping;
};

const takeComma = (parser: Parser, end: string): void => {
  if (!is(parser, ',')) fail(`did not find expected ',' or '${end}'`);
  take(parser);
};
