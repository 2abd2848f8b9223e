import { FleetError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import type { Documents } from '../schemas/documents.ts';
import { type Shape, shapeOf } from './json-shape.ts';
import { checkFor } from './schema/check-for.ts';
import type { SchemaName } from './schema/schema-names.ts';
import { schemaOf } from './schema/schema-of.ts';
import { type JsonLimits, parseStrictJson } from './strict-json.ts';

/** The schemas of bundles/schemas: documents of any implementation that follows them are read. */
export type DocumentName = SchemaName;

/** Names in `critical` that this version understands (docs/bundle-format.md sections 4, 5, 7, 12 and 16). */
const KNOWN_CRITICAL: ReadonlySet<unknown> = new Set([
  'approvalSiteValues',
  'approvalWorkspaces',
  'blobs',
  'debs',
  'deltas',
  'imagePolicy',
  'images',
  'playbooks',
  'probes',
  'secrets',
  'site-fields',
]);

/**
 * Validates parsed JSON by its published schema and returns it typed. Unknown fields are ignored unless the schema forbids them,
 * unknown names in `critical` are rejected. @throws FleetError SCHEMA, UNSUPPORTED
 */
export const parseDocument = <Name extends DocumentName>(
  name: Name,
  value: unknown,
  what: string,
): Documents[Name] => {
  // Before the schema, which knows nothing of what a name in the list brings. Not every schema declares the list, and a later version may use it.
  const critical = (isRecord(value) ? value['critical'] : undefined) ?? [];
  if (!Array.isArray(critical)) throw new FleetError('SCHEMA', `${what} at /critical must be array`);
  const unknown: unknown = critical.find((entry: unknown) => !KNOWN_CRITICAL.has(entry));
  if (unknown !== undefined) {
    throw new FleetError(
      'UNSUPPORTED',
      `${what} demands ${JSON.stringify(unknown).slice(0, 80)}, which this version does not know`,
      {
        hint: 'Update this program first',
      },
    );
  }
  const wrong = checkFor(name)(value);
  if (wrong) {
    const where = wrong.instancePath ? ` at ${wrong.instancePath}` : '';
    const foreign = wrong.params.additionalProperty;
    const message =
      foreign === undefined ? wrong.message : `has the unknown field ${JSON.stringify(foreign)}`;
    throw new FleetError('SCHEMA', `${what}${where} ${message}`);
  }
  return value as Documents[Name];
};

const shapes = new Map<DocumentName, Shape>();

const shapeFor = (name: DocumentName): Shape => {
  const known = shapes.get(name);
  if (known) return known;
  const shape = shapeOf(schemaOf(name));
  shapes.set(name, shape);
  return shape;
};

/**
 * Parses an untrusted document and validates it as parseDocument does. Unknown fields must be JSON and are not in the result: not for
 * documents that are written again or whose signature covers the parsed form.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED
 */
export const readDocument = <Name extends DocumentName>(
  name: Name,
  bytes: Uint8Array,
  limits: Omit<JsonLimits, 'shape'>,
  what: string,
): Documents[Name] =>
  parseDocument(name, parseStrictJson(bytes, { ...limits, shape: shapeFor(name) }, what), what);
