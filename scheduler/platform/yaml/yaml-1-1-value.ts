import { float, WholeFloat } from '../../render/go/number.ts';
import { parseFloat64 } from '../../render/go/parse-float.ts';
import { parseTime } from '../../render/go/time/parse-time.ts';
import type { ConfigValue } from '../model.ts';
import { parseFirstDocument, type YamlNode } from './libyaml/parse-first-document.ts';
import { fail, YamlFault } from './libyaml/scanner.ts';

/**
 * Kalypso's reading of a config value: the first YAML 1.1 document of the text when that is a mapping or a list
 * (behaviour spec 2.4), by the rules of the Go module that Kalypso uses, gopkg.in/yaml.v2: `y`, `on` and `010` mean true, true
 * and 8, as values and as keys, but 1:30 and dates stay text.
 * @returns undefined when the text is something else, and so stays text
 */
export const parseYaml11Collection = (text: string): ConfigValue | undefined => {
  try {
    const root = parseFirstDocument(text);
    if (root?.kind !== 'mapping' && root?.kind !== 'list') return undefined;
    return read(root, { open: new Set(), values: 0 });
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
};

type Mapping = Extract<YamlNode, { kind: 'mapping' }>;
type Walk = { readonly open: Set<YamlNode>; values: number };

/** Aliases can make a small text a huge value. */
const MAX_VALUES = 100_000;

const read = (node: YamlNode, walk: Walk): ConfigValue => {
  walk.values += 1;
  if (walk.values > MAX_VALUES) fail('document contains excessive aliasing');
  switch (node.kind) {
    case 'scalar':
      return readScalar(node);
    case 'list':
      return node.items.map((item) => read(item, walk));
    case 'mapping':
      return readMapping(node, walk);
    case 'alias':
      return throughAlias(node, walk, (target) => read(target, walk));
  }
};

const throughAlias = <T>(
  alias: Extract<YamlNode, { kind: 'alias' }>,
  walk: Walk,
  visit: (target: YamlNode) => T,
): T => {
  if (walk.open.has(alias)) fail('an anchor contains itself');
  walk.open.add(alias);
  const found = visit(alias.target);
  walk.open.delete(alias);
  return found;
};

const readMapping = (node: Mapping, walk: Walk): ConfigValue => {
  const all = new Map<ConfigValue, ConfigValue>();
  fill(all, node, walk);
  if (![...all.keys()].every((key) => typeof key === 'string')) return all;
  return Object.fromEntries(all as ReadonlyMap<string, ConfigValue>);
};

/** A key that comes later wins, whether `<<` brings it in or not. */
const fill = (all: Map<ConfigValue, ConfigValue>, { pairs }: Mapping, walk: Walk): void => {
  for (const [key, value] of pairs) {
    if (isMerge(key)) merge(all, value, walk);
    else all.set(readKey(key, walk), read(value, walk));
  }
};

const isMerge = (node: YamlNode): boolean =>
  node.kind === 'scalar' &&
  node.value === '<<' &&
  (node.isImplicit || node.tag === 'tag:yaml.org,2002:merge');

/** Of several mappings the first wins. */
const merge = (all: Map<ConfigValue, ConfigValue>, node: YamlNode, walk: Walk): void => {
  walk.values += 1;
  if (walk.values > MAX_VALUES) fail('document contains excessive aliasing');
  if (node.kind === 'mapping') fill(all, node, walk);
  else if (node.kind === 'alias')
    throughAlias(node, walk, (target) =>
      target.kind === 'mapping' ? fill(all, target, walk) : fail('map merge requires map'),
    );
  else if (node.kind === 'list') {
    for (const item of node.items.toReversed()) {
      if (item.kind !== 'mapping' && item.kind !== 'alias') fail('map merge requires map');
      merge(all, item, walk);
    }
  } else fail('map merge requires map or sequence of maps as the value');
};

/** Go's maps have no keys that are maps or lists: a text like `{{ .ClusterType }}`, which would be one, stays text. */
const readKey = (node: YamlNode, walk: Walk): ConfigValue => {
  const key = read(node, walk);
  if (typeof key === 'object' && key !== null && !(key instanceof WholeFloat)) return fail('invalid map key');
  return key;
};

const readScalar = ({ value, tag, isImplicit }: Extract<YamlNode, { kind: 'scalar' }>): ConfigValue => {
  if (tag === '') return isImplicit ? typePlain(value) : value;
  return typeTagged(tag, value);
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
      if (isInt64(value)) return float(Number(value));
      if (typeof value === 'number') return value;
      if (value instanceof WholeFloat) return value;
      break;
    case 'tag:yaml.org,2002:binary':
      return decodeBase64(text);
    case 'tag:yaml.org,2002:timestamp':
      if (isTimestamp(text)) return text;
      break;
    default:
      return text;
  }
  return fail('a value that is not of its type');
};

const isInt64 = (value: ConfigValue): value is number | bigint =>
  typeof value === 'bigint' ? value < 2n ** 63n : Number.isSafeInteger(value);

const decodeBase64 = (text: string): string => {
  const plain = text.replaceAll(/[\r\n]/g, '');
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(plain))
    fail('!!binary value contains invalid base64 data');
  return Buffer.from(plain, 'base64').toString();
};

const TIMESTAMPS = [
  '2006-1-2T15:4:5.999999999Z07:00',
  '2006-1-2t15:4:5.999999999Z07:00',
  '2006-1-2 15:4:5.999999999',
  '2006-1-2',
];

const isTimestamp = (text: string): boolean =>
  /^\d{4}-/.test(text) && TIMESTAMPS.some((layout) => parseTime(layout, text) !== undefined);

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
  if (text.startsWith('.')) return floatOr(parseFloat64(text), text);
  const plain = text.replaceAll('_', '');
  const integer = readInteger(plain) ?? readInteger(plain.replace(/^0b([-+])/, '$10b'));
  return integer ?? floatOr(FLOAT.test(plain) ? parseFloat64(plain) : undefined, text);
};

const floatOr = (value: number | undefined, text: string): ConfigValue =>
  value === undefined ? text : float(value);

const readInteger = (text: string): number | bigint | undefined => {
  const parts = INTEGER.exec(text);
  if (!parts) return undefined;
  const [, sign = '', digits = ''] = parts;
  const octal = /^0[0-7]+$/.test(digits);
  const size = BigInt(octal ? `0o${digits.slice(1)}` : digits.toLowerCase());
  const value = sign === '-' ? -size : size;
  if (Number.isSafeInteger(Number(value))) return Number(value);
  // Go has 64 bits, unsigned ones where there is no sign; beyond them the text is a float.
  return value >= -(2n ** 63n) && value < (sign === '' ? 2n ** 64n : 2n ** 63n) ? value : undefined;
};
