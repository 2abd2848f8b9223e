import { FleetError } from '../errors.ts';
import { isRecord } from '../is-record.ts';
import type { Documents } from '../schemas/documents.ts';
import { type Shape, shapeOf } from './json-shape.ts';
import { checkFor } from './schema/check-for.ts';
import type { PublishedDocument } from './schema/published-document.ts';
import type { SchemaName } from './schema/schema-names.ts';
import { type JsonLimits, parseStrictJson } from './strict-json.ts';

/** Names in `critical` that this version understands (docs/bundle-format.md sections 4, 5, 7, 12 and 16). */
const KNOWN_CRITICAL: ReadonlySet<unknown> = new Set([
  'approvalSiteValues',
  'approvalWorkspaces',
  'blobs',
  'debs',
  'deltas',
  'imageCertificates',
  'imagePolicy',
  'images',
  'objectRules',
  'playbooks',
  'probes',
  'rauc',
  'secrets',
  'site-fields',
]);

/**
 * Validates parsed JSON by its published schema, of schema/validators.js, and returns it typed. Unknown fields are ignored unless the schema forbids them,
 * unknown names in `critical` are rejected. @throws FleetError SCHEMA, UNSUPPORTED
 */
export const parseAs = <Name extends SchemaName>(
  document: PublishedDocument<Name>,
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
  const wrong = checkFor(document)(value);
  if (wrong) {
    const where = wrong.instancePath ? ` at ${wrong.instancePath}` : '';
    const foreign = wrong.params.additionalProperty;
    const message =
      foreign === undefined ? wrong.message : `has the unknown field ${JSON.stringify(foreign)}`;
    throw new FleetError('SCHEMA', `${what}${where} ${message}`);
  }
  return value as Documents[Name];
};

const shapes = new WeakMap<PublishedDocument, Shape>();

const shapeFor = (document: PublishedDocument): Shape => {
  const known = shapes.get(document);
  if (known) return known;
  const shape = shapeOf(document.schema);
  shapes.set(document, shape);
  return shape;
};

/**
 * Parses an untrusted document and validates it as parseAs does. Unknown fields must be JSON and are not in the result: not for
 * documents that are written again or whose signature covers the parsed form.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED
 */
export const readAs = <Name extends SchemaName>(
  document: PublishedDocument<Name>,
  bytes: Uint8Array,
  limits: Omit<JsonLimits, 'shape'>,
  what: string,
): Documents[Name] =>
  parseAs(document, parseStrictJson(bytes, { ...limits, shape: shapeFor(document) }, what), what);
