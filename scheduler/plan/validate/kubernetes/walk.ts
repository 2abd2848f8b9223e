import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import { kindOf } from '../../../model/yaml/shape.ts';
import type { ScalarValue } from './scalar-checks.ts';

/** One mistake in an object. `path` is a JSON path without the root: spec.containers[0].image */
export type Finding = {
  readonly path: string;
  readonly node: Node | null;
  readonly says: string;
  readonly hint?: string | undefined;
};

/** State of checking one object. */
export type Walk = {
  readonly document: Document;
  readonly found: Finding[];
  /** The object is a Secret: messages do not quote its values. */
  readonly isSecret: boolean;
  steps: number;
};

/** Checks one node. `owner` gives the place of a node without one. */
export type Check = (node: Node | null, path: string, walk: Walk, owner: Node | null) => void;

export const report = (
  walk: Walk,
  node: Node | null,
  owner: Node | null,
  path: string,
  says: string,
  hint?: string,
): void => {
  // A null without text has no place.
  walk.found.push({ path, node: node?.range ? node : owner, says, hint });
};

/** Upper bound on visited nodes: aliases can make a small file huge. */
const MAX_STEPS = 200_000;

/** The node with aliases resolved; null for a null value. */
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

/** The pairs of a mapping, with keys as JSON has them. */
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

/** Describes a node in a message. */
export const shown = (node: Node | null, { isSecret }: Pick<Walk, 'isSecret'>): string => {
  const value = scalarOf(node);
  if (isSecret && value !== undefined) return 'its value (values of a Secret are not shown)';
  if (typeof value === 'string')
    return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
  return kindOf(node);
};
