import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';

/** Upper bound on entries that merges add to one document: nested merges multiply them. */
const MAX_ADDED = 100_000;

/**
 * Resolves `<<` in every mapping below a node, as readers of Kubernetes objects do: the mapping's own keys win, then the
 * first source that has the key. A `<<` whose value is not a mapping stays an ordinary key.
 * @returns false when the merges add more than MAX_ADDED entries
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
        added.push(pair);
      }
    }
  }
  count.added += added.length;
  node.items = [...added, ...own];
  return count.added <= MAX_ADDED;
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
