import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseAllDocuments,
  type Scalar,
} from 'yaml';
import { float, WholeFloat } from '../../render/go/number.ts';
import type { ConfigValue } from '../model.ts';
import { scalarText } from './scalar-text.ts';

/**
 * Kalypso's reading of a config value: the first YAML 1.1 document of the text when that is a mapping or a list
 * (behaviour spec 2.4). Scalars are typed as the Go reader that Kalypso uses does: `y`, `on` and `010` mean true, true
 * and 8, as values and as keys, but 1:30 and dates stay text.
 * @returns undefined when the text is something else, and so stays text
 */
export const parseYaml11Collection = (text: string): ConfigValue | undefined => {
  try {
    // With the failsafe schema every scalar stays as written, and the typing below is the only one.
    const documents = parseAllDocuments(text, {
      version: '1.2',
      schema: 'failsafe',
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
    });
    const [first] = Array.isArray(documents) ? documents : [];
    if (!first || first.errors.length > 0 || !(isMap(first.contents) || isSeq(first.contents)))
      return undefined;
    return read(first.contents, { document: first, text, nodes: 0 }, 0);
  } catch {
    // Unreadable is text: a broken alias, a bomb, absurd nesting.
    return undefined;
  }
};

type Walk = { readonly document: Document; readonly text: string; nodes: number };
type Entry = readonly [ConfigValue, ConfigValue];

const read = (node: Node | null, walk: Walk, depth: number): ConfigValue => {
  if (depth > 64 || ++walk.nodes > 100_000) throw new RangeError('too much for one value');
  if (isAlias(node)) {
    const target = node.resolve(walk.document);
    if (!target) throw new RangeError('unknown anchor');
    return read(target, walk, depth + 1);
  }
  if (isSeq(node)) return node.items.map((item) => read(item as Node, walk, depth + 1));
  if (isMap(node)) return readMap(node.items as readonly Pair<Node, Node | null>[], walk, depth);
  return isScalar(node) ? readScalar(node, walk) : null;
};

const readMap = (pairs: readonly Pair<Node, Node | null>[], walk: Walk, depth: number): ConfigValue => {
  const merged: Entry[] = [];
  const own: Entry[] = [];
  for (const pair of pairs) {
    const value = read(pair.value, walk, depth + 1);
    const { key } = pair;
    if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN') merged.push(...mergeEntries(value));
    else own.push([readKey(key, walk, depth), value]);
  }
  const all = new Map([...merged, ...own]);
  if (![...all.keys()].every((key) => typeof key === 'string')) return all;
  return Object.fromEntries(all as ReadonlyMap<string, ConfigValue>);
};

/** Go's maps have no keys that are maps or lists: a text like `{{ .ClusterType }}`, which would be one, stays text. */
const readKey = (node: Node, walk: Walk, depth: number): ConfigValue => {
  const key = read(node, walk, depth + 1);
  if (typeof key === 'object' && key !== null && !(key instanceof WholeFloat))
    throw new RangeError('a key that is a mapping or a list');
  return key;
};

/** What `<<` brings in; of several mappings the first wins. */
const mergeEntries = (value: ConfigValue): readonly Entry[] => {
  if (Array.isArray(value)) return value.toReversed().flatMap((one: ConfigValue) => mergeEntries(one));
  if (value instanceof Map) return [...(value as ReadonlyMap<ConfigValue, ConfigValue>)];
  if (typeof value !== 'object' || value === null) throw new RangeError('<< wants a mapping');
  return Object.entries(value as Readonly<Record<string, ConfigValue>>);
};

const readScalar = (node: Scalar, walk: Walk): ConfigValue => {
  // `!!binary`, which the parser decodes.
  if (node.value instanceof Uint8Array) return Buffer.from(node.value).toString();
  const text = typeof node.value === 'string' ? scalarText(node, walk.text) : '';
  if (node.type === 'QUOTE_DOUBLE' && HALVES.test(walk.text.slice(...(node.range ?? [0, 0]).slice(0, 2))))
    throw new RangeError('half a character');
  if (node.tag !== undefined) return typeTagged(node.tag, text);
  return node.type === 'PLAIN' || node.type === undefined ? typePlain(text) : text;
};

/** A type that is said outright: `!!int "5"`. Tags that are nobody's make text. */
const typeTagged = (tag: string, text: string): ConfigValue => {
  const value = typePlain(text);
  switch (tag) {
    case 'tag:yaml.org,2002:null':
      if (value === null) return value;
      break;
    case 'tag:yaml.org,2002:bool':
      if (typeof value === 'boolean') return value;
      break;
    case 'tag:yaml.org,2002:int':
      if (Number.isInteger(value) || typeof value === 'bigint') return value;
      break;
    case 'tag:yaml.org,2002:float':
      if (typeof value === 'number' || typeof value === 'bigint') return float(Number(value));
      if (value instanceof WholeFloat) return value;
      break;
    default:
      return text;
  }
  throw new RangeError('a value that is not of its type');
};

/** An escape for one half of a character, as JSON writes it and YAML does not. */
const HALVES = /(?:^|[^\\])(?:\\\\)*\\u[dD][89a-fA-F]/;

const WORDS: ReadonlyMap<string, ConfigValue> = new Map<string, ConfigValue>([
  ...words(true, 'y Y yes Yes YES true True TRUE on On ON'),
  ...words(false, 'n N no No NO false False FALSE off Off OFF'),
  ...words(null, '~ null Null NULL'),
  ['', null] as const,
  ...words(Number.NaN, '.nan .NaN .NAN'),
  ...words(Number.POSITIVE_INFINITY, '.inf .Inf .INF +.inf +.Inf +.INF'),
  ...words(Number.NEGATIVE_INFINITY, '-.inf -.Inf -.INF'),
]);

function words(value: ConfigValue, list: string): readonly (readonly [string, ConfigValue])[] {
  return list.split(' ').map((word) => [word, value] as const);
}

const INTEGER = /^([-+]?)(0x[0-9a-f]+|0b[01]+|0o[0-7]+|0[0-7]*|[1-9][0-9]*)$/i;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** What a plain scalar means. */
export const typePlain = (text: string): ConfigValue => {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  // What begins with neither sign, dot nor digit can be no number, whatever its underscores.
  if (!/^[-+.0-9]/.test(text)) return text;
  const plain = text.replaceAll('_', '');
  const integer = INTEGER.exec(plain);
  if (integer) {
    const digits = integer[2] as string;
    const octal = /^0[0-7]+$/.test(digits);
    const size = BigInt(octal ? `0o${digits.slice(1)}` : digits.toLowerCase());
    const value = integer[1] === '-' ? -size : size;
    if (Number.isSafeInteger(Number(value))) return Number(value);
    // Go has 64 bits, signed or not; beyond them the text is a float.
    if (value >= -(2n ** 63n) && value < 2n ** 64n) return value;
  }
  if (!FLOAT.test(plain) || !Number.isFinite(Number(plain))) return text;
  return float(Number(plain));
};
