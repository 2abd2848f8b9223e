import { isMap, isScalar, isSeq, type Scalar } from 'yaml';

/** Repeated keys of every mapping below a node, in time linear in the number of keys. */
export const findDuplicateKeys = (node: unknown): readonly Scalar[] => {
  const found: Scalar[] = [];
  visit(node, found);
  return found;
};

const visit = (node: unknown, found: Scalar[]): void => {
  if (isSeq(node)) for (const item of node.items) visit(item, found);
  if (!isMap(node)) return;
  const seen = new Set<unknown>();
  for (const { key, value } of node.items) {
    if (isScalar(key)) {
      if (seen.has(key.value)) found.push(key);
      seen.add(key.value);
    }
    visit(value, found);
  }
};
