/**
 * What of a document is built: all of it, nothing, or the fields that are named. A field without a shape of its own has that of
 * `others`; an array's items have that of `items`.
 */
export type Shape =
  | 'whole'
  | 'skip'
  | { readonly fields: ReadonlyMap<string, Shape>; readonly others: Shape; readonly items: Shape };

type Schema = Readonly<Record<string, unknown>>;

/**
 * The fields that a published schema names. Of an unknown field no more is built than its absence says; a value of the wrong type
 * becomes an empty one, which the schema refuses as well.
 * @param schema of docs/schemas, without recursion
 */
export const shapeOf = (schema: object): Shape => {
  const root = schema as Schema;
  const definitions = (root['$defs'] ?? {}) as Readonly<Record<string, unknown>>;

  const shape = (given: unknown): Shape => {
    if (typeof given !== 'object' || given === null) return 'whole';
    const {
      type,
      $ref,
      oneOf,
      properties,
      additionalProperties,
      items,
      const: only,
      enum: some,
    } = given as Schema;
    if (typeof $ref === 'string') return shape(definitions[$ref.replace('#/$defs/', '')]);
    const isScalar = only !== undefined || some !== undefined || isScalarType(type);
    const isOpen = type === undefined || type === 'object';
    if (oneOf !== undefined) return 'whole';
    if (!isScalar && isOpen && properties === undefined && additionalProperties === undefined) return 'whole';
    const fields = Object.entries((properties ?? {}) as Schema).map(
      ([key, one]) => [key, shape(one)] as const,
    );
    return {
      fields: new Map(fields),
      others: additionalProperties === undefined ? 'skip' : shape(additionalProperties),
      items: type === 'array' ? shape(items) : 'skip',
    };
  };

  const found = shape(root);
  if (typeof found === 'string' || root['type'] !== 'object') return found;
  // Not every schema declares the list; what a later version demands with it counts all the same.
  return { ...found, fields: new Map([...found.fields, ['critical', 'whole' as const]]) };
};

const isScalarType = (type: unknown): boolean =>
  [type].flat().every((name) => ['string', 'number', 'integer', 'boolean', 'null'].includes(name as string));
