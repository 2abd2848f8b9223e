import { isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar } from 'yaml';
import { isRecord } from '#bundles/is-record';
import { yamlNumber } from '#bundles/json/yaml-numbers';
import type { Value } from '../model.ts';
import { scalarText } from './scalar-text.ts';
import { BAD, type Bad, kindOf, type Reading, refuse, type Shape, shape } from './shape.ts';

const MAX_DEPTH = 64;
/** Aliases can make a small file a huge value ("billion laughs"). */
const MAX_NODES = 100_000;
/** Resolving an alias searches the whole document. */
const ALIAS_COST = 20;

/**
 * Any value, typed as YAML 1.2 core. Keys are text as written (`1:` is the key "1"). A number that JSON cannot express, that a double
 * would round, or that Go's readers and YAML 1.2 read differently (017, 1_000, 1e400) is refused.
 */
export const freeValue: Shape<Value> = shape({}, (node, path, reading) => {
  const seen = { nodes: 0, reported: false, numbers: 'alike' as const };
  return read(node, path, reading, 0, seen);
});

/** As freeValue, for a text of its own that is YAML 1.2 by definition: 017 is 17. */
export const coreValue: Shape<Value> = shape({}, (node, path, reading) => {
  const seen = { nodes: 0, reported: false, numbers: 'core' as const };
  return read(node, path, reading, 0, seen);
});

/** `numbers`: 'alike' if those that Go's readers and YAML 1.2 read differently are refused. */
type Seen = { nodes: number; reported: boolean; readonly numbers: 'alike' | 'core' };

const read = (node: Node | null, path: string, reading: Reading, depth: number, seen: Seen): Value | Bad => {
  if (depth > MAX_DEPTH) return refuse(reading, node, `${path} nests deeper than ${MAX_DEPTH} levels`);
  seen.nodes += isAlias(node) ? ALIAS_COST : 1;
  if (seen.nodes > MAX_NODES) {
    // Reported once, not again for every value that is left.
    if (seen.reported) return BAD;
    seen.reported = true;
    return refuse(reading, node, `${path} has more than ${MAX_NODES} values`);
  }
  if (isAlias(node))
    return read(node.resolve(reading.parsed.document) ?? null, path, reading, depth + 1, seen);
  if (isSeq(node)) {
    const items = node.items.map((item, at) =>
      read(item as Node, `${path}[${at}]`, reading, depth + 1, seen),
    );
    return items.every((item) => item !== BAD) ? items : BAD;
  }
  if (isMap(node)) {
    const entries: [string, Value][] = [];
    for (const pair of node.items as readonly Pair<Node, Node | null>[]) {
      if (!isScalar(pair.key)) return refuse(reading, pair.key, `a key of ${path} must be text`);
      const key =
        typeof pair.key.value === 'string' ? pair.key.value : (pair.key.source ?? String(pair.key.value));
      const value = read(pair.value, `${path}.${key}`, reading, depth + 1, seen);
      if (value === BAD) return BAD;
      entries.push([key, value]);
    }
    return Object.fromEntries(entries);
  }
  if (node === null) return null;
  return isScalar(node)
    ? readScalar(node, path, reading, seen)
    : refuse(reading, node, `${path} is ${kindOf(node)}`);
};

const readScalar = (node: Scalar, path: string, reading: Reading, { numbers }: Seen): Value | Bad => {
  const { value } = node;
  if (value === null || typeof value === 'boolean') return value;
  if (numbers === 'alike' && node.type === 'PLAIN' && /^[-+.\d]/.test(node.source ?? '')) {
    const written = node.source ?? '';
    const [ours, theirs] = [coreNumber(written), yamlNumber(written)];
    if (ours === undefined ? theirs !== undefined : Number(ours) !== Number(theirs))
      return refuse(
        reading,
        node,
        `${path} is ${written}, which some programs read as ${shown(ours)} and others as ${shown(theirs)}`,
        'Put it in quotes if it is text, else write the number in decimal',
      );
  }
  if (typeof value === 'string') return scalarText(node, reading.parsed.text.text);
  if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value);
  if (typeof value === 'number' && Number.isFinite(value) && !isLongInteger(node.source)) return value;
  return refuse(
    reading,
    node,
    `${path} is ${kindOf(node)}, which would not arrive as written`,
    'Put it in quotes',
  );
};

/** The number that a plain scalar is in the core schema of YAML 1.2 (section 10.3.2); infinities and NaN are left to yamlNumber. */
const coreNumber = (text: string): bigint | number | undefined => {
  if (/^[-+]?\d+$/.test(text)) return BigInt(text.replace(/^\+/, ''));
  if (/^0(?:o[0-7]+|x[0-9a-fA-F]+)$/.test(text)) return BigInt(text);
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text);
  return /^[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)$/.test(text) ? yamlNumber(text) : undefined;
};

/** A whole number of more than 64 bits, which Go reads as a double. */
const isLongInteger = (source = ''): boolean =>
  /^[-+]?\d+$/.test(source) && !Number.isSafeInteger(Number(source));

const shown = (value: bigint | number | undefined): string =>
  value === undefined ? 'text' : `the number ${value}`;

/** A mapping of free values, for configuration and manifests. */
export const freeRecord: Shape<{ readonly [key: string]: Value }> = shape(
  { type: 'object' },
  (node, path, reading) => {
    const value = freeValue(node, path, reading);
    if (value === BAD) return BAD;
    if (isRecord(value)) return value;
    return refuse(reading, node, `${path} must be a mapping`);
  },
);
