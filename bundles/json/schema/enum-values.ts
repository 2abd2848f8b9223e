import type { Documents } from '../../schemas/documents.ts';
import type { PublishedDocument } from './published-document.ts';
import type { SchemaName } from './schema-names.ts';

/** The words that a field may hold, in the order of the schema; none for a field that holds something else. */
export const enumValuesOf = <Name extends SchemaName, Field extends keyof Documents[Name] & string>(
  { schema }: PublishedDocument<Name>,
  field: Field,
): readonly Documents[Name][Field][] =>
  (schema.properties?.[field]?.enum ?? []) as readonly Documents[Name][Field][];
