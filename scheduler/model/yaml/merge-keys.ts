import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  Pair,
  visit as visitNodes,
  type YAMLMap,
} from 'yaml';

/** Upper bound on nodes that merges add to one document: nested merges multiply them. */
const MAX_ADDED = 100_000;

/**
 * Resolves `<<` in every mapping below a node, as Kustomize does: the mapping's own keys win, then the first source that has the key.
 * A `<<` whose value is not a mapping stays an ordinary key. Merged nodes are copies without anchors and aliases, which may be changed
 * one by one; they keep the place of what they were copied from.
 * @returns false when the merges add more than MAX_ADDED nodes
 */
export const mergeKeys = (root: Node, document: Document): boolean => visit(root, document, { added: 0 });

const visit = (node: unknown, document: Document, count: { added: number }): boolean => {
  if (isSeq(node)) return node.items.every((item) => visit(item, document, count));
  if (!isMap(node)) return true;
  if (!node.items.every(({ value }) => visit(value, document, count))) return false;
  const merges = node.items.filter(({ key, value }) => isMergeKey(key) && sourcesOf(value, document));
  if (merges.length === 0) return true;
  const own = node.items.filter((pair) => !merges.includes(pair));
  const known = new Set(own.map(keyOf));
  const added: Pair[] = [];
  for (const { value } of merges) {
    for (const source of sourcesOf(value, document) ?? []) {
      for (const pair of source.items) {
        if (known.has(keyOf(pair))) continue;
        known.add(keyOf(pair));
        added.push(new Pair(copyOf(pair.key, document, count), copyOf(pair.value, document, count)));
        if (count.added > MAX_ADDED) return false;
      }
    }
  }
  node.items = [...added, ...own];
  return true;
};

/** A deep copy with aliases resolved. */
const copyOf = (node: unknown, document: Document, count: { added: number }): unknown => {
  count.added += 1;
  if (count.added > MAX_ADDED) return null;
  if (isAlias(node)) return copyOf(node.resolve(document), document, count);
  if (!isNode(node)) return node;
  const copy = Object.create(
    Object.getPrototypeOf(node) as object,
    Object.getOwnPropertyDescriptors(node),
  ) as Node & { anchor?: string; items?: unknown[] };
  delete copy.anchor;
  if (isMap(node))
    copy.items = node.items.map(
      ({ key, value }) => new Pair(copyOf(key, document, count), copyOf(value, document, count)),
    );
  else if (isSeq(node)) copy.items = node.items.map((item) => copyOf(item, document, count));
  return copy;
};

/** The values of merge keys that are no mappings and no lists of them, which Kubernetes refuses. */
export const badMerges = (root: Node, document: Document): readonly Node[] => {
  const found: Node[] = [];
  visitNodes(root, {
    Pair: (_, { key, value }) => {
      if (isMergeKey(key) && !sourcesOf(value, document)) found.push((value ?? key) as Node);
    },
  });
  return found;
};

const isMergeKey = (key: unknown): boolean => isScalar(key) && key.value === '<<' && key.type === 'PLAIN';

const sourcesOf = (value: unknown, document: Document): readonly YAMLMap[] | undefined => {
  const found = isAlias(value) ? value.resolve(document) : value;
  if (isMap(found)) return [found];
  if (!isSeq(found)) return undefined;
  const each = found.items.map((item) => (isAlias(item) ? item.resolve(document) : item));
  return each.every((item) => isMap(item)) ? each : undefined;
};

const keyOf = ({ key }: Pair): unknown => (isScalar(key) ? key.value : key);
