import {
  type Alias,
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
import { yamlNumber } from '#bundles/json/yaml-numbers';
import { float, WholeFloat } from '../go/number.ts';
import { parseTime } from '../go/time/parse-time.ts';
import type { ConfigValue } from '../model.ts';
import { scalarText } from './scalar-text.ts';

/**
 * Reads a config value as Kalypso does: the first YAML 1.1 document of the text, if it is a mapping or a list (behaviour
 * spec 2.4). Scalars are typed as in gopkg.in/yaml.v2: `y`, `on` and `010` are true, true and 8, as values and as keys, but
 * 1:30 and dates stay text.
 * @returns undefined for any other text, which then stays text
 */
export const parseYaml11Collection = (text: string): ConfigValue | undefined => {
  try {
    const { document } = parse(text);
    if (!document || !isCollection(document) || isOtherVersion(document) || !endsBeforeErrors(document, text))
      return undefined;
    return read(document.contents, { document, text, targets: new Map(), nodes: 0 }, 0);
  } catch {
    // Unreadable content stays text: a broken alias, a "billion laughs" value, absurd nesting.
    return undefined;
  }
};

/**
 * Whether yaml.v2 may read another value than this module: the text has a YAML error that yaml.v2 may not reach or not
 * detect, or characters that YAML 1.1 and 1.2 treat differently.
 */
export const isReadDifferently = (text: string): boolean => {
  try {
    const { document, errors } = parse(text);
    return document !== undefined && isCollection(document) && (errors > 0 || NOT_PLAIN.test(text));
  } catch {
    return true;
  }
};

/** Characters that end a line in YAML 1.1 only, and control characters, which yaml.v2 refuses. */
// oxlint-disable-next-line no-control-regex
const NOT_PLAIN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029\ufeff]|\r(?!\n)/;

const parse = (text: string): { readonly document: Document | undefined; readonly errors: number } => {
  // With the failsafe schema every scalar stays as written, so that only the code below types it.
  const documents = parseAllDocuments(text, {
    version: '1.2',
    schema: 'failsafe',
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const all: readonly Document[] = Array.isArray(documents) ? documents : [];
  return {
    document: all[0],
    errors: all.reduce((sum, { errors, warnings }) => sum + errors.length + warnings.length, 0),
  };
};

/** yaml.v2 stops after the first node: an error after it does not count, unless the node itself is not closed. */
const endsBeforeErrors = ({ contents, errors }: Document, text: string): boolean => {
  const end = contents?.range?.[1] ?? 0;
  return errors.every(({ pos: [at] }) => at >= end && at < text.trimEnd().length);
};

/** `%YAML 1.2`, which yaml.v2 refuses. */
const isOtherVersion = ({ directives }: Document): boolean =>
  directives?.yaml.explicit === true && directives.yaml.version !== '1.1';

const isCollection = ({ contents }: Document): boolean => isMap(contents) || isSeq(contents);

type Walk = {
  readonly document: Document;
  readonly text: string;
  /** Resolved before: the library walks the whole document for each alias. */
  readonly targets: Map<Alias, Node>;
  nodes: number;
};

const read = (node: Node | null, walk: Walk, depth: number): ConfigValue => {
  if (depth > 64 || ++walk.nodes > 100_000) throw new RangeError('too much for one value');
  if (isAlias(node)) return read(targetOf(node, walk), walk, depth + 1);
  if (isSeq(node)) return node.items.map((item) => read(item as Node, walk, depth + 1));
  if (isMap(node)) return readMapping(node.items as Pairs, walk, depth);
  return isScalar(node) ? readScalar(node, walk) : null;
};

const targetOf = (node: Alias, { document, targets }: Walk): Node => {
  const target = targets.get(node) ?? node.resolve(document);
  if (!target) throw new RangeError('unknown anchor');
  targets.set(node, target);
  return target;
};

type Pairs = readonly Pair<Node | null, Node | null>[];

const readMapping = (pairs: Pairs, walk: Walk, depth: number): ConfigValue => {
  const all = new Map<ConfigValue, ConfigValue>();
  for (const { key, value } of pairs) {
    // The later key wins, including keys that `<<` adds.
    if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN') {
      for (const [name, item] of mergeEntries(read(value, walk, depth + 1))) all.set(name, item);
    } else all.set(readKey(key, walk, depth), read(value, walk, depth + 1));
  }
  if (![...all.keys()].every((key) => typeof key === 'string')) return all;
  return Object.fromEntries(all as ReadonlyMap<string, ConfigValue>);
};

/** Go's maps cannot have maps or lists as keys: a text like `{{ .ClusterType }}`, which would be one, stays text. */
const readKey = (node: Node | null, walk: Walk, depth: number): ConfigValue => {
  // `: b`, which yaml.v2 refuses.
  if (!node || (isScalar(node) && node.range?.[0] === node.range?.[1]))
    throw new RangeError('a key is missing');
  const key = read(node, walk, depth + 1);
  if (typeof key === 'object' && key !== null && !(key instanceof WholeFloat))
    throw new RangeError('a key that is a mapping or a list');
  return key;
};

/** The entries that `<<` adds; of several mappings the first wins. */
const mergeEntries = (value: ConfigValue): readonly (readonly [ConfigValue, ConfigValue])[] => {
  if (Array.isArray(value)) return value.toReversed().flatMap((one: ConfigValue) => mergeEntries(one));
  if (value instanceof Map) return [...(value as ReadonlyMap<ConfigValue, ConfigValue>)];
  if (typeof value !== 'object' || value === null) throw new RangeError('<< wants a mapping');
  return Object.entries(value as Readonly<Record<string, ConfigValue>>);
};

const readScalar = (node: Scalar, walk: Walk): ConfigValue => {
  // `!!binary`, which the parser has decoded.
  if (node.value instanceof Uint8Array) return Buffer.from(node.value).toString();
  // For `!!timestamp` the library returns a Date; the source text is used instead.
  const text = typeof node.value === 'string' ? scalarText(node, walk.text) : (node.source ?? '');
  if (
    node.type === 'QUOTE_DOUBLE' &&
    JSON_ESCAPE.test(walk.text.slice(...(node.range ?? [0, 0]).slice(0, 2)))
  )
    throw new RangeError('an escape of JSON');
  if (node.tag !== undefined) return typeTagged(node.tag, text);
  return node.type === 'PLAIN' || node.type === undefined ? typePlain(text) : text;
};

/** JSON escapes that yaml.v2 does not know: a slash, and a surrogate. */
const JSON_ESCAPE = /(?:^|[^\\])(?:\\\\)*\\(?:\/|u[dD][89a-fA-F])/;

/** Types a scalar with an explicit tag: `!!int "5"`. With an unknown tag it is text. */
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
      if (isInt64(value)) return float(Number(value));
      if (typeof value === 'number') return value;
      if (value instanceof WholeFloat) return value;
      break;
    case 'tag:yaml.org,2002:timestamp':
      if (isTimestamp(text)) return text;
      break;
    default:
      return text;
  }
  throw new RangeError('a value that is not of its type');
};

const isInt64 = (value: ConfigValue): value is number | bigint =>
  typeof value === 'bigint' ? value < 2n ** 63n : Number.isSafeInteger(value);

const TIMESTAMPS = [
  '2006-1-2T15:4:5.999999999Z07:00',
  '2006-1-2t15:4:5.999999999Z07:00',
  '2006-1-2 15:4:5.999999999',
  '2006-1-2',
];

const isTimestamp = (text: string): boolean =>
  /^\d{4}-/.test(text) && TIMESTAMPS.some((layout) => parseTime(layout, text) !== undefined);

const KEYWORDS: ReadonlyMap<string, ConfigValue> = new Map<string, ConfigValue>([
  ...words(true, 'y Y yes Yes YES true True TRUE on On ON'),
  ...words(false, 'n N no No NO false False FALSE off Off OFF'),
  ...words(null, '~ null Null NULL'),
  ['', null] as const,
]);

function words(value: ConfigValue, list: string): readonly (readonly [string, ConfigValue])[] {
  return list.split(' ').map((word) => [word, value] as const);
}

/** Types a plain scalar. */
export const typePlain = (text: string): ConfigValue => {
  const word = KEYWORDS.get(text);
  if (word !== undefined) return word;
  const value = yamlNumber(text);
  if (value === undefined) return text;
  if (typeof value === 'number') return float(value);
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
};
