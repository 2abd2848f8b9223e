import { isMap, type Node } from 'yaml';
import { defined } from '#bundles/defined';
import { nonEmpty, given, onlyWith, enumOf } from './schema-rules.ts';
import { type Bad, childOf, narrowed, type Reading, refuse, type Schema, type Shape } from './shape.ts';

/** A rule between the fields of a mapping: its JSON Schema, and the same for fields that were read. A null field is absent. */
export type Rule = { readonly schema: Schema; readonly holds: (fields: Fields) => boolean };

type Fields = { readonly [field: string]: unknown };

/** All of these fields are present. */
export const has = (...keys: readonly string[]): Rule => ({
  schema: given(...keys),
  holds: (fields) => keys.every((key) => fields[key] !== undefined),
});

/** The field holds one of these words. */
export const is = (key: string, ...words: readonly string[]): Rule => ({
  schema: enumOf(key, ...words),
  holds: (fields) => words.some((word) => word === fields[key]),
});

export const isTrue = (key: string): Rule => ({
  schema: { required: [key], properties: { [key]: { const: true } } },
  holds: (fields) => fields[key] === true,
});

/** The field holds a list with at least one entry. */
export const hasEntries = (key: string): Rule => ({
  schema: nonEmpty(key),
  holds: (fields) => Array.isArray(fields[key]) && fields[key].length > 0,
});

/** The field holds text, and not ''. */
export const hasText = (key: string): Rule => ({
  schema: { required: [key], properties: { [key]: { type: 'string', minLength: 1 } } },
  holds: (fields) => typeof fields[key] === 'string' && fields[key] !== '',
});

export const not = (rule: Rule): Rule => ({
  schema: { not: rule.schema },
  holds: (fields) => !rule.holds(fields),
});

export const oneRule = (...rules: readonly Rule[]): Rule => ({
  schema: { oneOf: rules.map(({ schema }) => schema) },
  holds: (fields) => rules.filter(({ holds }) => holds(fields)).length === 1,
});

export const someRule = (...rules: readonly Rule[]): Rule => ({
  schema: { anyOf: rules.map(({ schema }) => schema) },
  holds: (fields) => rules.some(({ holds }) => holds(fields)),
});

export const everyRule = (...rules: readonly Rule[]): Rule => ({
  schema: { allOf: rules.map(({ schema }) => schema) },
  holds: (fields) => rules.every(({ holds }) => holds(fields)),
});

/** Where `when` holds, `rule` must hold. */
export const implies = (when: Rule, rule: Rule): Rule => ({
  schema: onlyWith(when.schema, rule.schema),
  holds: (fields) => !when.holds(fields) || rule.holds(fields),
});

/** A rule, the message with a hint if any for fields that break it, and the field to point at instead of the mapping. */
export type Stated<T> = readonly [
  rule: Rule,
  says: (fields: T, path: string) => string | readonly [message: string, hint: string],
  field?: keyof T & string,
];

/** The same shape for fields that keep the rules; the first rule that they break is the mistake. */
export const keeping = <T extends object>(like: Shape<T>, ...stated: readonly Stated<T>[]): Shape<T> =>
  narrowed(like, schemaOf(stated), (value, node, path, reading) =>
    judge(value, stated, { node, path, reading }),
  );

const schemaOf = <T>([first, ...others]: readonly Stated<T>[]): Schema => ({
  ...first?.[0].schema,
  ...defined({ allOf: others.length > 0 ? others.map(([{ schema }]) => schema) : undefined }),
});

const judge = <T extends object>(
  value: T,
  stated: readonly Stated<T>[],
  { node, path, reading }: { node: Node | null; path: string; reading: Reading },
): T | Bad => {
  const broken = stated.find(([rule]) => !rule.holds(value as Fields));
  if (!broken) return value;
  const [, says, field] = broken;
  const [message, hint] = [says(value, path)].flat();
  const at = field !== undefined && isMap(node) ? childOf(node, field) : node;
  return refuse(reading, at, message ?? '', hint);
};
