import { GoContext } from './go/go-context.ts';
import { formatFloat, type Int, isFloat, toNumber } from './go/number.ts';
import { Opaque } from './go/opaque.ts';
import { type Dict, isList, sizeOf, type Value, type ValueMap } from './go/value.ts';
import { isScalar, type Scalar, yamlEntries } from './yaml-keys.ts';
import { doubleQuoted, scalarStyle, singleQuoted } from './yaml-scalar.ts';

/** Told of every value, and of the length of its text, before it is written, so that a caller can bound the work. */
export type YamlVisit = (depth: number, length: number) => void;

/** Longer keys are written as `? key`, since readers need not look further than 1024 characters for the colon. */
const SIMPLE_KEY_BYTES = 128;

const numberText = (value: number): string =>
  formatFloat(value).replace('+Inf', '.inf').replace('-Inf', '-.inf').replace('NaN', '.nan');

/** A literal block: header and indented lines. `parent` is the indentation its header counts from; -1, no parent, counts as 0. */
const literal = (text: string, indent: number, parent: number): string => {
  const hint = text.startsWith(' ') ? String(indent - Math.max(0, parent)) : '';
  const chomp = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  const pad = ' '.repeat(indent);
  const lines = body.split('\n').map((line) => (line === '' ? '' : pad + line));
  return `|${hint}${chomp}\n${lines.join('\n')}`;
};

const scalar = (value: Scalar, indent: number, parent: number): string => {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') {
    const text = value.isWellFormed() ? value : value.toWellFormed();
    switch (scalarStyle(text)) {
      case 'plain':
        return text;
      case 'single':
        return singleQuoted(text);
      case 'double':
        return doubleQuoted(text);
      case 'literal':
        return literal(text, indent, parent);
    }
  }
  if (value instanceof Opaque) return value.encoded;
  return isFloat(value) ? numberText(toNumber(value)) : String(value satisfies boolean | Int);
};

type Entries = readonly (readonly [Value, Value])[];

/** The struct's fields as yaml.v3 names them: lower case, in their order. */
const contextEntries = (context: GoContext): Entries =>
  context.entries().map(([name, value]) => [name.toLowerCase(), value] as const);

const entriesOf = (value: GoContext | Dict | ValueMap): Entries =>
  value instanceof GoContext ? contextEntries(value) : yamlEntries(value);

/** Is the value written on lines of its own? */
const isBlock = (value: Value): boolean => {
  if (isScalar(value)) return false;
  if (isList(value)) return value.length > 0;
  return value instanceof GoContext || sizeOf(value) > 0;
};

/** Everything but mappings' children is indented to the next multiple of four. */
const deeper = (indent: number): number => (indent < 0 ? 0 : 4 * Math.floor((indent + 4) / 4));

/**
 * One value as lines joined, its first line without indentation: the caller has written the way to it.
 * `indent` is where the value's own lines stand, `parent` where its parent's do.
 */
const block = (value: Value, indent: number, parent: number, visit: YamlVisit, depth: number): string => {
  visit(depth, typeof value === 'string' ? value.length : 0);
  const pad = `\n${' '.repeat(indent)}`;
  if (isList(value)) {
    if (value.length === 0) return '[]';
    return value.map((item) => `- ${block(item, indent + 2, indent, visit, depth + 1)}`).join(pad);
  }
  if (isScalar(value)) return scalar(value, indent, parent);
  const entries = entriesOf(value);
  if (entries.length === 0) return '{}';
  return entries.map(([key, item]) => entry(key, item, indent, visit, depth)).join(pad);
};

const entry = (key: Value, value: Value, indent: number, visit: YamlVisit, depth: number): string => {
  const inner = deeper(indent);
  const text = block(value, inner, indent, visit, depth + 1);
  if (!isScalar(key) || isLongKey(key)) {
    // `?` and `:` stand where `-` would; a block that follows starts on their line, aligned with its own indentation.
    const gap = ' '.repeat(inner - indent - 1);
    const name = block(key, inner, indent, visit, depth + 1);
    return `?${isBlock(key) ? gap : ' '}${name}\n${' '.repeat(indent)}:${isBlock(value) ? gap : ' '}${text}`;
  }
  const name = scalar(key, 0, 0);
  return isBlock(value) ? `${name}:\n${' '.repeat(inner)}${text}` : `${name}: ${text}`;
};

const isLongKey = (key: Value): boolean =>
  typeof key === 'string' &&
  (/[\r\n\x85\u2028\u2029]/.test(key) ||
    (key.length > SIMPLE_KEY_BYTES / 3 && Buffer.byteLength(key) > SIMPLE_KEY_BYTES));

/**
 * A value as yaml.v3 writes it: indented by four, keys in natural order, lines never folded, no line break at the end
 * (behaviour spec 2.6 and 7). `visit` is called for every value and may throw.
 */
export const toYaml = (value: Value, visit: YamlVisit = () => undefined): string => {
  const top = isBlock(value) ? 0 : 4;
  return block(value, top, -1, visit, 0);
};
