/**
 * The part of a document to build: all of it, nothing, or the named fields. Other fields have the shape `others`, the items of an array
 * the shape `items`.
 */
export type Shape =
  | 'whole'
  | 'skip'
  | { readonly fields: ReadonlyMap<string, Shape>; readonly others: Shape; readonly items: Shape };

type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns the shape of the fields that a published schema names. Unknown fields are skipped; a value of the wrong type is built empty,
 * and its schema rejects it all the same.
 * @param schema of bundles/schemas, without recursion
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
  // Not every schema declares the list, and a later version may use it.
  return { ...found, fields: new Map([...found.fields, ['critical', 'whole' as const]]) };
};

const isScalarType = (type: unknown): boolean =>
  [type].flat().every((name) => ['string', 'number', 'integer', 'boolean', 'null'].includes(name as string));
