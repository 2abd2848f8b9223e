import type { RJSFSchema } from '@rjsf/utils';

/** Where a line is in a document of YAML. */
export type YamlPlace = {
  /** The keys above it, '*' for the item of a list. */
  readonly path: readonly string[];
  /** Keys that the same mapping has in other lines. */
  readonly siblings: readonly string[];
  /** The kind that the document names. */
  readonly kind: string | undefined;
  /** The key of the line, where it has one. */
  readonly key: string | undefined;
  /** Column of the key, or of the place for one. */
  readonly indent: number;
};

/** A key, or the item of a list ('*'), that holds what stands further right below it. */
type Frame = { readonly column: number; readonly key: string };

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s#:'"[\]{},&*!|>%@`-][^\s:#]*)):(?=\s|$)/;
/** Spaces and the dashes of list items before a key or value. */
const LEAD = /^(?: *-(?=\s|$))* */;
const END = /^(?:---|\.\.\.)(?:\s|$)/;

/**
 * The place of a line in block style, by indentation: a parser has nothing to say about half a line.
 * @param lines of the whole file @param at index of the line @param column of the cursor, which counts where the line is empty
 */
export const placeInYaml = (lines: readonly string[], at: number, column: number): YamlPlace => {
  const first = lines.findLastIndex((text, index) => index <= at && END.test(text)) + 1;
  const last = lines.findIndex((text, index) => index > at && END.test(text));
  let frames: Frame[] = [];
  let found:
    | (Pick<YamlPlace, 'path' | 'key' | 'indent'> & { readonly parent: Frame | undefined })
    | undefined;
  const keys: { readonly parent: Frame | undefined; readonly key: string }[] = [];
  let kind: string | undefined;
  for (let index = first; index < (last < 0 ? lines.length : last); index += 1) {
    const line = lines[index] ?? '';
    if (index !== at && /^\s*(?:#|$)/.test(line)) continue;
    const [lead = ''] = LEAD.exec(line) ?? [];
    for (const { index: dash } of lead.matchAll(/-/g)) {
      // A list may stand at the column of its own key.
      frames = frames.filter((one) => one.column < dash || (one.column === dash && one.key !== '*'));
      frames.push({ column: dash, key: '*' });
    }
    const rest = line.slice(lead.length);
    const own = rest === '' ? Math.max(lead.length, index === at ? column : 0) : lead.length;
    frames = frames.filter((one) => one.column < own);
    const parent = frames.at(-1);
    const key = keyOf(rest);
    if (index === at) found = { parent, path: frames.map((one) => one.key), key, indent: own };
    if (key === undefined) continue;
    if (index !== at) keys.push({ parent, key });
    if (key === 'kind' && parent === undefined) kind = /:\s*["']?([^"'#\s]+)/.exec(rest)?.[1];
    frames.push({ column: own, key });
  }
  if (found === undefined) return { path: [], siblings: [], kind, key: undefined, indent: 0 };
  const { parent: own, ...place } = found;
  return { ...place, kind, siblings: keys.filter(({ parent }) => parent === own).map(({ key }) => key) };
};

/** The key at the start of a line, without its quotes. */
const keyOf = (line: string): string | undefined => {
  const [, double, single, plain] = KEY.exec(line) ?? [];
  return double ?? single ?? plain;
};

/** The schemas that a value at a path may fit, without `$ref` and alternatives. */
export const schemasAt = (root: RJSFSchema, path: readonly string[]): readonly RJSFSchema[] => {
  let found = spread(root, root);
  for (const key of path)
    found = found.flatMap((schema) => inside(schema, key)).flatMap((one) => spread(root, one));
  return found;
};

const inside = (
  { properties, additionalProperties, items }: RJSFSchema,
  key: string,
): readonly RJSFSchema[] => {
  if (key === '*') return isSchema(items) ? [items] : [];
  const own = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (isSchema(own)) return [own];
  return isSchema(additionalProperties) ? [additionalProperties] : [];
};

const isSchema = (value: unknown): value is RJSFSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Depth of references and alternatives within each other. */
const MAX_DEPTH = 8;

const spread = (root: RJSFSchema, schema: RJSFSchema, depth = 0): readonly RJSFSchema[] => {
  if (depth > MAX_DEPTH) return [];
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  const target = $ref === undefined ? undefined : targetOf(root, $ref);
  const others = [...anyOf, ...oneOf, ...allOf, ...(target ? [target] : [])].filter(isSchema);
  return [schema, ...others.flatMap((one) => spread(root, one, depth + 1))];
};

const targetOf = (root: RJSFSchema, reference: string): RJSFSchema | undefined => {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isSchema(at) || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return isSchema(at) ? at : undefined;
};

/** A key or value that may be written at a place. */
export type Proposal = {
  readonly text: string;
  /** Text after a key: ': ', or the start of the mapping or list. */
  readonly rest: string;
  readonly detail: string;
  readonly info: string | undefined;
};

/** Keys of these schemas that the mapping has not yet, required ones first. @param indent column of the keys */
export const keysOf = (
  schemas: readonly RJSFSchema[],
  siblings: readonly string[],
  indent: number,
): readonly Proposal[] => {
  const known = new Map<string, Proposal & { readonly isRequired: boolean }>();
  for (const { properties = {}, required = [] } of schemas)
    for (const [name, one] of Object.entries(properties)) {
      if (!isSchema(one) || one.description === 'Not read.' || siblings.includes(name) || known.has(name))
        continue;
      const isRequired = required.includes(name);
      const type = typeOf(one);
      const rest =
        type === 'object' || type === 'array'
          ? `:\n${' '.repeat(indent + 2)}${type === 'array' ? '- ' : ''}`
          : ': ';
      known.set(name, {
        text: name,
        rest,
        detail: `${type}${isRequired ? ', required' : ''}`,
        info: one.description,
        isRequired,
      });
    }
  return [...known.values()].toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired));
};

/** Values that these schemas name: constants, words, defaults and examples. */
export const valuesOf = (schemas: readonly RJSFSchema[]): readonly Proposal[] => {
  const known = new Map<string, Proposal>();
  const add = (value: unknown, detail: string, info: string | undefined): void => {
    if (value === null || typeof value === 'object') return;
    const text = typeof value === 'string' ? quoted(value) : JSON.stringify(value);
    if (!known.has(text)) known.set(text, { text, rest: '', detail, info });
  };
  for (const schema of schemas) {
    const { const: constant, enum: words = [], default: preset, examples, description } = schema;
    if (constant !== undefined) add(constant, 'the only value', description);
    for (const word of words) add(word, '', description);
    if (typeOf(schema) === 'boolean') for (const word of [true, false]) add(word, '', description);
    if (preset !== undefined) add(preset, 'default', description);
    if (Array.isArray(examples)) for (const one of examples as unknown[]) add(one, 'example', description);
  }
  return [...known.values()];
};

/** In quotes where YAML would read another type, or another end. */
const quoted = (value: string): string =>
  /^[A-Za-z/][\w ./-]*$/.test(value) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(value)
    ? value
    : JSON.stringify(value);

const typeOf = (schema: RJSFSchema): string => {
  const [type] = [schema.type ?? []].flat().filter((one) => one !== 'null');
  if (type !== undefined) return type;
  if (schema.properties !== undefined) return 'object';
  if (schema.const !== undefined || schema.enum !== undefined) return 'string';
  return 'any';
};

/** Type, description, default and an example of a place, for people; undefined if no schema has the place. */
export const describePlace = (schemas: readonly RJSFSchema[]): readonly string[] => {
  const [described = schemas[0]] = schemas.filter(({ description }) => description !== undefined);
  if (described === undefined) return [];
  const { description, default: preset, examples } = described;
  const [example] = Array.isArray(examples) ? (examples as readonly unknown[]) : [];
  const words = schemas.flatMap((one) => one.enum ?? []);
  return [
    typeOf(described),
    ...(description === undefined ? [] : [description]),
    ...(words.length === 0 ? [] : [`One of ${words.map((word) => JSON.stringify(word)).join(', ')}.`]),
    ...(preset === undefined ? [] : [`Default: ${JSON.stringify(preset)}.`]),
    ...(example === undefined ? [] : [`Example: ${JSON.stringify(example)}`]),
  ];
};
