import type { Documents } from '../schemas/documents.ts';
import { parseAs, readAs } from './parse-as.ts';
import type { SchemaName } from './schema/schema-names.ts';
import { PUBLISHED } from './schema/validators.js';
import type { JsonLimits } from './strict-json.ts';

/** The schemas of bundles/schemas: documents of any implementation that follows them are read. */
export type DocumentName = SchemaName;

/** parseAs by the name of a schema. Importing it brings all schemas into a program: modules that the agent or the exporter runs call parseAs with the schema that they need. */
export const parseDocument = <Name extends DocumentName>(
  name: Name,
  value: unknown,
  what: string,
): Documents[Name] => parseAs<Name>(PUBLISHED[name], value, what);

/** readAs by the name of a schema. */
export const readDocument = <Name extends DocumentName>(
  name: Name,
  bytes: Uint8Array,
  limits: Omit<JsonLimits, 'shape'>,
  what: string,
): Documents[Name] => readAs<Name>(PUBLISHED[name], bytes, limits, what);
