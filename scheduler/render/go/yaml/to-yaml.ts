import { GoContext } from '../values/go-context.ts';
import { formatFloat, type Int, isFloat, toNumber } from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { type Dict, isList, sizeOf, type Value, type ValueMap } from '../values/value.ts';
import { isScalar, type Scalar, yamlEntries } from './yaml-keys.ts';
import { doubleQuoted, scalarStyle, singleQuoted } from './yaml-scalar.ts';

/** Called before each value is written, with its depth and the length of its text, so that the caller can limit the work. */
export type YamlVisit = (depth: number, length: number) => void;

/** Longer keys are written as `? key`: readers search for the colon only within 1024 characters. */
const SIMPLE_KEY_BYTES = 128;

const numberText = (value: number): string =>
  formatFloat(value).replace('+Inf', '.inf').replace('-Inf', '-.inf').replace('NaN', '.nan');

/**
 * A literal block: header and indented lines. `parent` is the indentation that the header's indicator counts from; -1 (no
 * parent) counts as 0.
 */
const literal = (text: string, indent: number, parent: number): string => {
  const hint = text.startsWith(' ') ? String(indent - Math.max(0, parent)) : '';
  const strip = text.endsWith('\n') ? '' : '-';
  const chomp = text.endsWith('\n\n') ? '+' : strip;
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

/** The struct's fields under yaml.v3's names: in lower case, in the struct's order. */
const contextEntries = (context: GoContext): Entries =>
  context.entries().map(([name, value]) => [name.toLowerCase(), value] as const);

const entriesOf = (value: GoContext | Dict | ValueMap): Entries =>
  value instanceof GoContext ? contextEntries(value) : yamlEntries(value);

/** Whether the value takes lines of its own. */
const isBlock = (value: Value): boolean => {
  if (isScalar(value)) return false;
  if (isList(value)) return value.length > 0;
  return value instanceof GoContext || sizeOf(value) > 0;
};

/** Everything except children of mappings is indented to the next multiple of four. */
const deeper = (indent: number): number => (indent < 0 ? 0 : 4 * Math.floor((indent + 4) / 4));

/**
 * Writes one value. The first line is not indented, because the caller has already written up to it. `indent` is the
 * indentation of the value's own lines, `parent` that of its parent.
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
    // `?` and `:` take the place of `-`; a block after them starts on the same line, at its own indentation.
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
 * Writes a value as yaml.v3 does: indented by four, keys in natural order, lines never folded, no line break at the end
 * (behaviour spec 2.6 and 7). `visit` is called for every value and may throw.
 */
export const toYaml = (value: Value, visit: YamlVisit = () => undefined): string => {
  const top = isBlock(value) ? 0 : 4;
  return block(value, top, -1, visit, 0);
};
