import { isScalar, type Node } from 'yaml';
import type { ListKey } from './list-keys.ts';
import { type Check, isList, isMapping, pairsOf, report, scalarOf, valueOf, type Walk } from './walk.ts';

/**
 * Refuses two items of a list that server-side apply could not tell apart: with the same values of these fields, or, without any, two
 * equal values. A key that is not a single value is left to the check of its type.
 */
export const uniqueItems =
  (keys: readonly ListKey[]): Check =>
  (node, path, walk) => {
    const list = valueOf(node, walk);
    if (!isList(list)) return;
    const first = new Map<string, number>();
    for (const [at, item] of list.items.entries()) {
      const found = identityOf(item as Node | null, keys, walk);
      if (!found) continue;
      const text = JSON.stringify(found.values);
      const before = first.get(text);
      if (before === undefined) first.set(text, at);
      else report(walk, found.node, list, `${path}[${at}]`, duplicateMessage(keys, found.values, before));
    }
  };

type Identity = { readonly values: readonly string[]; readonly node: Node | null };

const identityOf = (item: Node | null, keys: readonly ListKey[], walk: Walk): Identity | undefined => {
  const found = valueOf(item, walk);
  if (keys.length === 0) {
    const value = scalarOf(found);
    return value === undefined ? undefined : { values: [String(value)], node: found };
  }
  if (!isMapping(found)) return undefined;
  const fields = new Map(pairsOf(found).map(([key, value]) => [key, valueOf(value, walk)]));
  const values = keys.map(([name, absent]) => {
    const value = scalarOf(fields.get(name) ?? null);
    return value === undefined ? absent : String(value);
  });
  if (!values.every((value) => value !== undefined)) return undefined;
  const own = fields.get(keys[0]?.[0] ?? '');
  return { values, node: isScalar(own) ? own : found };
};

const duplicateMessage = (keys: readonly ListKey[], values: readonly string[], before: number): string => {
  const same =
    keys.length === 0
      ? `is the same as item ${before}`
      : `has the ${keys.map(([name], at) => `${name} ${values[at]}`).join(' and ')} of item ${before}`;
  return `${same}, and the API server tells the items apart by ${keys.length === 0 ? 'their value' : keys.map(([name]) => name).join(' and ')}`;
};
