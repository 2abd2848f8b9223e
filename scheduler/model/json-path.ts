import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';

/**
 * A path to fields of an object: RFC 9535 without slices, filters and selector lists. Names, indexes, wildcards and the
 * descendant segment cover the image fields of custom kinds; anything else is refused.
 */
export type JsonPath = { readonly text: string; readonly segments: readonly Segment[] };

type Segment = {
  readonly select:
    | { readonly kind: 'name'; readonly name: string }
    | { readonly kind: 'index'; readonly index: number }
    | { readonly kind: 'all' };
  /** `..`: matches at the node and at any depth below it. */
  readonly deep: boolean;
};

/** RFC 9535 section 2.5.1.1: member-name-shorthand. */
const NAME = /[A-Za-z_\u0080-\u{10FFFF}][A-Za-z0-9_\u0080-\u{10FFFF}]*/uy;
const BRACKET = /\[\s*(?:(\*)|(-?[0-9]+)|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))\s*\]/suy;
const INDEX = /^(?:0|-?[1-9][0-9]{0,8})$/;
const MAX_SEGMENTS = 64;

/** @returns the path, or what is wrong with the text as a predicate: 'has ... at character 7' */
export const parseJsonPath = (text: string): JsonPath | string => {
  if (!text.startsWith('$')) return 'does not begin with $';
  const segments: Segment[] = [];
  let at = 1;
  while (at < text.length) {
    const here = at + 1;
    const deep = text.startsWith('..', at);
    if (deep) at += 2;
    else if (text[at] === '.') at += 1;
    else if (text[at] !== '[') return `has ${JSON.stringify(text.slice(at, at + 10))} at character ${here}`;
    const select = text[at] === '[' && (deep || text[at - 1] !== '.') ? bracket(text, at) : name(text, at);
    if (select === undefined)
      return `has at character ${here} what is not a name, no index and no *: slices, filters and lists are not taken`;
    segments.push({ select: select.select, deep });
    at = select.end;
    if (segments.length > MAX_SEGMENTS) return `has more than ${MAX_SEGMENTS} steps`;
  }
  return segments.length === 0 ? 'names the whole object' : { text, segments };
};

type Read = { readonly select: Segment['select']; readonly end: number } | undefined;

const name = (text: string, at: number): Read => {
  if (text[at] === '*') return { select: { kind: 'all' }, end: at + 1 };
  NAME.lastIndex = at;
  const [found] = NAME.exec(text) ?? [];
  return found === undefined ? undefined : { select: { kind: 'name', name: found }, end: at + found.length };
};

const bracket = (text: string, at: number): Read => {
  BRACKET.lastIndex = at;
  const found = BRACKET.exec(text);
  if (!found) return undefined;
  const [all, star, index, quoted] = found;
  const end = at + all.length;
  if (star) return { select: { kind: 'all' }, end };
  if (index !== undefined)
    return INDEX.test(index) ? { select: { kind: 'index', index: Number(index) }, end } : undefined;
  const unquoted = unquote(quoted ?? '');
  return unquoted === undefined ? undefined : { select: { kind: 'name', name: unquoted }, end };
};

/** JSON has the same escapes, except for the single quote. */
const unquote = (quoted: string): string | undefined => {
  const inside = quoted.slice(1, -1);
  const json = quoted[0] === '"' ? inside : inside.replace(/\\'|"/g, (one) => (one === '"' ? '\\"' : "'"));
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return undefined;
  }
};

/** A node that a path selects, and its parent: `owner.set(key, ...)` replaces it. */
export type FoundNode = {
  readonly node: Node | null;
  readonly owner: YAMLMap | YAMLSeq;
  readonly key: string | number;
  /** 'spec.components[0].image', for messages. */
  readonly path: string;
};

/** The nodes that a path selects in a YAML mapping, in document order, each once. Aliases are resolved. */
export const selectNodes = (root: YAMLMap, document: Document, path: JsonPath): readonly FoundNode[] => {
  let level: readonly { readonly node: Node | null; readonly path: string }[] = [{ node: root, path: '' }];
  let found: readonly FoundNode[] = [];
  for (const { select, deep } of path.segments) {
    const from = deep ? level.flatMap((one) => descendants(one.node, one.path, document)) : level;
    found = uniqueNodes(
      from.flatMap((one) => children(one.node, one.path, document).filter((child) => fits(child, select))),
    );
    level = found;
  }
  return found;
};

const uniqueNodes = (nodes: readonly FoundNode[]): readonly FoundNode[] => {
  const seen = new Map<object, Set<string | number>>();
  return nodes.filter(({ owner, key }) => {
    const keys = seen.get(owner) ?? new Set();
    seen.set(owner, keys);
    return !keys.has(key) && keys.add(key);
  });
};

const fits = ({ key, owner }: FoundNode, select: Segment['select']): boolean => {
  switch (select.kind) {
    case 'all':
      return true;
    case 'name':
      return key === select.name && isMap(owner);
    case 'index':
      return isSeq(owner) && key === (select.index < 0 ? owner.items.length + select.index : select.index);
  }
};

/** Every value of a mapping or list, with its path for messages. */
export const children = (value: unknown, path: string, document: Document): readonly FoundNode[] => {
  const node = resolveAlias(value, document);
  if (isMap(node)) {
    return node.items.map((pair) => {
      const key = isScalar(pair.key) ? String(pair.key.value) : '';
      return { node: pair.value as Node | null, owner: node, key, path: joined(path, key) };
    });
  }
  if (!isSeq(node)) return [];
  return node.items.map((item, key) => ({
    node: item as Node | null,
    owner: node,
    key,
    path: `${path}[${key}]`,
  }));
};

const joined = (path: string, key: string): string => {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
};

/** Resolves an alias. */
export const resolveAlias = (node: unknown, document: Document): unknown =>
  isAlias(node) ? node.resolve(document) : node;

/** A node that is already an ancestor is skipped: an alias could form a cycle. */
const descendants = (
  node: Node | null,
  path: string,
  document: Document,
  above: readonly unknown[] = [],
): readonly { readonly node: Node | null; readonly path: string }[] => {
  const own = resolveAlias(node, document);
  if (above.includes(own)) return [];
  const below = children(node, path, document);
  return [
    { node, path },
    ...below.flatMap((child) => descendants(child.node, child.path, document, [...above, own])),
  ];
};
