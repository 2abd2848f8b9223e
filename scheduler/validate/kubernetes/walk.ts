import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { kindOf } from '../../platform/yaml/shape.ts';
import type { ScalarValue } from './scalar-checks.ts';

/** One thing that is wrong with an object. `path` is a JSON path without the root: spec.containers[0].image */
export type Finding = {
  readonly path: string;
  readonly node: Node | null;
  readonly says: string;
  readonly hint?: string | undefined;
};

/** An object under judgement. */
export type Walk = {
  readonly document: Document;
  readonly found: Finding[];
  /** It is a Secret: messages do not quote its values. */
  readonly isSecret: boolean;
  steps: number;
};

/** Judges one node. `owner` stands in for it where it has no place of its own. */
export type Check = (node: Node | null, path: string, walk: Walk, owner: Node | null) => void;

export const report = (
  walk: Walk,
  node: Node | null,
  owner: Node | null,
  path: string,
  says: string,
  hint?: string,
): void => {
  // A null without text has no place of its own.
  walk.found.push({ path, node: node?.range ? node : owner, says, hint });
};

/** Aliases make small files large; no object of a cluster has so many values. */
const MAX_STEPS = 200_000;

/** What a node stands for; null for nothing. */
export const valueOf = (node: Node | null, walk: Walk): Node | null => {
  walk.steps += 1;
  if (walk.steps > MAX_STEPS) throw new RangeError('too many values');
  const found = isAlias(node) ? (node.resolve(walk.document) ?? null) : node;
  return isScalar(found) && found.value === null ? null : found;
};

export const scalarOf = (node: Node | null): ScalarValue | undefined =>
  isScalar(node) && ['string', 'number', 'bigint', 'boolean'].includes(typeof node.value)
    ? (node.value as ScalarValue)
    : undefined;

export const isList = isSeq;
export const isMapping = isMap;

/** A mapping's pairs with the key as JSON has it. */
export const pairsOf = (map: YAMLMap): readonly (readonly [string, Node | null, Node])[] =>
  (map.items as readonly Pair<Node, Node | null>[]).map((pair) => [
    isScalar(pair.key) ? String(pair.key.value) : String(pair.key),
    pair.value,
    pair.key,
  ]);

export const childPath = (path: string, key: string): string => {
  if (!/^[A-Za-z_$][\w$-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
};

/** What stands there, as a message calls it. */
export const shown = (node: Node | null, { isSecret }: Pick<Walk, 'isSecret'>): string => {
  const value = scalarOf(node);
  if (isSecret && value !== undefined) return 'what is there (values of a Secret are not shown)';
  if (typeof value === 'string')
    return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  return kindOf(node);
};
