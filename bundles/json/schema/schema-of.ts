import type { Documents } from '../../schemas/documents.ts';
import type { SchemaName } from './schema-names.ts';
import { PUBLISHED } from './validators.js';

/** The keywords of a published schema that the programs look at. */
export type PublishedSchema = {
  readonly properties?: { readonly [field: string]: PublishedSchema };
  readonly items?: PublishedSchema;
  readonly oneOf?: readonly PublishedSchema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
};

/** A published schema without its descriptions. */
export const schemaOf = (name: SchemaName): PublishedSchema => PUBLISHED[name].schema;

/** The words that a field may hold, in the order of the schema; none for a field that holds something else. */
export const enumValuesOf = <Name extends SchemaName, Field extends keyof Documents[Name] & string>(
  name: Name,
  field: Field,
): readonly Documents[Name][Field][] =>
  (schemaOf(name).properties?.[field]?.enum ?? []) as readonly Documents[Name][Field][];
