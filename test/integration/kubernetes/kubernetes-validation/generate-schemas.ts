import { type Random, randomOf } from '../../../fuzz/random.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type Schema = { readonly [key: string]: Json };

/** A structural schema with combinations in it, and values that it takes or nearly takes. */
export type SchemaCase = { readonly schema: Schema; readonly values: readonly Json[] };

/** The same for the same seed. */
export const generateSchemas = (seed: number, count: number, valuesEach: number): readonly SchemaCase[] => {
  const random = randomOf(seed);
  return Array.from({ length: count }, () => {
    const schema = structural(random, 2);
    const values = Array.from({ length: valuesEach }, () => valueOf(random, schema));
    return { schema, values: [...new Map(values.map((one) => [JSON.stringify(one), one])).values()] };
  });
};

const FIELDS = ['a', 'b', 'c'] as const;
const WORDS = ['a', 'b', 'ab', 'abc', 'c', ''] as const;

const structural = (random: Random, depth: number): Schema => {
  const plain = plainSchema(random, depth);
  return random.chance(70) ? { ...plain, ...combination(random, plain, 2) } : plain;
};

const plainSchema = (random: Random, depth: number): Schema => {
  const kind = random.pick(
    depth === 0
      ? (['string', 'integer', 'boolean', 'int-or-string'] as const)
      : (['object', 'object', 'object', 'array', 'array', 'map', 'string', 'integer'] as const),
  );
  switch (kind) {
    case 'object': {
      const properties = Object.fromEntries(
        FIELDS.map((name) => [name, fieldOf(random, structural(random, depth - 1))]),
      );
      return { type: 'object', properties, ...(random.chance(20) && { required: [random.pick(FIELDS)] }) };
    }
    case 'array':
      return { type: 'array', items: structural(random, depth - 1) };
    case 'map':
      return { type: 'object', additionalProperties: structural(random, 0) };
    case 'int-or-string':
      return { 'x-kubernetes-int-or-string': true };
    case 'string':
    case 'integer':
    case 'boolean':
      return { type: kind };
  }
};

/** A default must fit the schema: only where nothing limits it. */
const fieldOf = (random: Random, schema: Schema): Schema => {
  if (random.chance(20)) return { ...schema, nullable: true };
  const isPlain = Object.keys(schema).length === 1;
  if (!isPlain || !random.chance(40)) return schema;
  if (schema.type === 'integer') return { ...schema, default: 4 };
  return schema.type === 'string' ? { ...schema, default: 'ab' } : schema;
};

const combination = (random: Random, schema: Schema, depth: number): Schema => {
  const parts = (): readonly Schema[] =>
    Array.from({ length: 1 + random.below(3) }, () => narrowing(random, schema, depth));
  const word = random.pick(['oneOf', 'anyOf', 'allOf', 'not'] as const);
  return word === 'not' ? { not: narrowing(random, schema, depth) } : { [word]: parts() };
};

/** What a combination may say of a schema: only about its fields and items, and no types. */
const narrowing = (random: Random, schema: Schema, depth: number): Schema => {
  const more = depth > 0 && random.chance(15) ? combination(random, schema, depth - 1) : {};
  return { ...limit(random, schema, depth), ...more };
};

const limit = (random: Random, schema: Schema, depth: number): Schema => {
  const { properties, items, additionalProperties } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
    readonly additionalProperties?: Schema;
  };
  if (properties) {
    const some = FIELDS.filter(() => random.chance(45));
    return {
      ...(random.chance(70) && {
        properties: Object.fromEntries(
          some.map((name) => [name, narrowing(random, properties[name] ?? {}, depth)]),
        ),
      }),
      ...(random.chance(50) && { required: FIELDS.filter(() => random.chance(40)) }),
    };
  }
  if (items)
    return {
      ...(random.chance(75) && { items: narrowing(random, items, depth) }),
      ...(random.chance(30) && { minItems: 1 + random.below(2) }),
    };
  if (additionalProperties) return { minProperties: 1 + random.below(2) };
  const limits = LIMITS[typeof schema.type === 'string' ? schema.type : 'int-or-string'] ?? [];
  return random.pick(limits);
};

const LIMITS: Readonly<Record<string, readonly Schema[]>> = {
  string: [{ enum: ['a', 'ab'] }, { minLength: 2 }, { maxLength: 1 }, { pattern: '^a' }],
  integer: [{ minimum: 3 }, { maximum: 5 }, { multipleOf: 2 }, { enum: [1, 4] }],
  boolean: [{ enum: [true] }],
  'int-or-string': [{ minimum: 3 }, { minLength: 2 }, { enum: [1, 'a'] }],
};

const valueOf = (random: Random, schema: Schema): Json => {
  if (random.chance(3)) return random.pick<Json>(['a', 1, true, [], {}]);
  const { properties, items, additionalProperties } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly items?: Schema;
    readonly additionalProperties?: Schema;
  };
  const inside = (one: Schema): Json => (random.chance(6) ? null : valueOf(random, one));
  if (properties) {
    const there = FIELDS.filter(() => random.chance(60));
    return Object.fromEntries([
      ...there.map((name) => [name, inside(properties[name] ?? {})] as const),
      ...(random.chance(3) ? [['z', 1] as const] : []),
    ]);
  }
  if (items) return Array.from({ length: random.below(4) }, () => inside(items));
  if (additionalProperties)
    return Object.fromEntries(
      FIELDS.filter(() => random.chance(40)).map((name) => [name, inside(additionalProperties)]),
    );
  if (schema.type === 'string') return random.pick(WORDS);
  if (schema.type === 'integer') return random.below(8);
  if (schema.type === 'boolean') return random.chance(50);
  return random.chance(50) ? random.pick(WORDS) : random.below(8);
};
