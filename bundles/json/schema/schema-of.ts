import type { PublishedSchema } from './published-document.ts';
import type { SchemaName } from './schema-names.ts';
import { PUBLISHED } from './validators.js';

/** A published schema without its descriptions, by its name. Importing it brings all schemas into a program. */
export const schemaOf = (name: SchemaName): PublishedSchema => PUBLISHED[name].schema;
