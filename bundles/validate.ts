import bundleConfig from '../docs/schemas/bundle-config.schema.json' with { type: 'json' };
import bundlePredicate from '../docs/schemas/bundle-predicate.schema.json' with { type: 'json' };
import candidate from '../docs/schemas/candidate.schema.json' with { type: 'json' };
import event from '../docs/schemas/event.schema.json' with { type: 'json' };
import hostPackage from '../docs/schemas/host-package.schema.json' with { type: 'json' };
import hubCertificateAnswer from '../docs/schemas/hub-certificate-answer.schema.json' with { type: 'json' };
import hubCertificateRequest from '../docs/schemas/hub-certificate-request.schema.json' with { type: 'json' };
import hubEnrollAnswer from '../docs/schemas/hub-enroll-answer.schema.json' with { type: 'json' };
import hubEnrollRequest from '../docs/schemas/hub-enroll-request.schema.json' with { type: 'json' };
import hubError from '../docs/schemas/hub-error.schema.json' with { type: 'json' };
import hubReport from '../docs/schemas/hub-report.schema.json' with { type: 'json' };
import hubReportAnswer from '../docs/schemas/hub-report-answer.schema.json' with { type: 'json' };
import hubRoots from '../docs/schemas/hub-roots.schema.json' with { type: 'json' };
import leasePredicate from '../docs/schemas/lease-predicate.schema.json' with { type: 'json' };
import medium from '../docs/schemas/medium.schema.json' with { type: 'json' };
import mediumPart from '../docs/schemas/medium-part.schema.json' with { type: 'json' };
import needs from '../docs/schemas/needs.schema.json' with { type: 'json' };
import receiptPredicate from '../docs/schemas/receipt-predicate.schema.json' with { type: 'json' };
import releasePredicate from '../docs/schemas/release-predicate.schema.json' with { type: 'json' };
import reportPredicate from '../docs/schemas/report-predicate.schema.json' with { type: 'json' };
import request from '../docs/schemas/request.schema.json' with { type: 'json' };
import revocations from '../docs/schemas/revocations.schema.json' with { type: 'json' };
import sitePredicate from '../docs/schemas/site-predicate.schema.json' with { type: 'json' };
import siteValues from '../docs/schemas/site-values.schema.json' with { type: 'json' };
import stickParts from '../docs/schemas/stick-parts.schema.json' with { type: 'json' };
import verificationCheck from '../docs/schemas/verification-check.schema.json' with { type: 'json' };
import verificationPredicate from '../docs/schemas/verification-predicate.schema.json' with { type: 'json' };
import { FleetError } from './errors.ts';
import { type Shape, shapeOf } from './json-shape.ts';
import { compileSchema } from './schema/compile-schema.ts';
import type { Check } from './schema/mistake.ts';
import { type JsonLimits, parseStrictJson } from './strict-json.ts';

/** The published schemas are the parsers: a document that another implementation may write is one that we read. */
const SCHEMAS = {
  'bundle-config': bundleConfig,
  'bundle-predicate': bundlePredicate,
  candidate,
  event,
  'host-package': hostPackage,
  'hub-certificate-answer': hubCertificateAnswer,
  'hub-certificate-request': hubCertificateRequest,
  'hub-enroll-answer': hubEnrollAnswer,
  'hub-enroll-request': hubEnrollRequest,
  'hub-error': hubError,
  'hub-report': hubReport,
  'hub-report-answer': hubReportAnswer,
  'hub-roots': hubRoots,
  'lease-predicate': leasePredicate,
  medium,
  'medium-part': mediumPart,
  needs,
  'receipt-predicate': receiptPredicate,
  'release-predicate': releasePredicate,
  'report-predicate': reportPredicate,
  request,
  revocations,
  'site-predicate': sitePredicate,
  'site-values': siteValues,
  'verification-check': verificationCheck,
  'verification-predicate': verificationPredicate,
  'stick-parts': stickParts,
} as const;

export type DocumentName = keyof typeof SCHEMAS;

const compiled = new Map<DocumentName, Check>();

/** Compiled on first use: an agent that only asks for its status needs none of them. */
const checkFor = (name: DocumentName): Check => {
  const known = compiled.get(name);
  if (known) return known;
  const check = compileSchema(SCHEMAS[name]);
  compiled.set(name, check);
  return check;
};

/** Names in `critical` that this version understands (docs/bundle-format.md sections 4, 5, 12 and 16). */
const UNDERSTOOD: ReadonlySet<unknown> = new Set(['blobs', 'deltas', 'imagePolicy', 'secrets']);

/**
 * Checks parsed JSON against its published schema and returns it typed; unknown fields are ignored, unknown names in
 * `critical` are not. @throws FleetError SCHEMA, UNSUPPORTED
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the schema just checked is what T is written after
export const parseDocument = <T>(name: DocumentName, value: unknown, what: string): T => {
  const wrong = checkFor(name)(value);
  if (wrong) {
    const where = wrong.instancePath ? ` at ${wrong.instancePath}` : '';
    throw new FleetError('SCHEMA', `${what}${where} ${wrong.message}`);
  }
  // Not every schema declares the list; what a later version demands with it counts all the same.
  const critical: unknown = (value as { critical?: unknown }).critical ?? [];
  if (!Array.isArray(critical)) throw new FleetError('SCHEMA', `${what} at /critical must be array`);
  const foreign: unknown = critical.find((entry: unknown) => !UNDERSTOOD.has(entry));
  if (foreign !== undefined) {
    throw new FleetError(
      'UNSUPPORTED',
      `${what} demands ${JSON.stringify(foreign).slice(0, 80)}, which this version does not know`,
      {
        hint: 'Update this program first',
      },
    );
  }
  return value as T;
};

const shapes = new Map<DocumentName, Shape>();

const shapeFor = (name: DocumentName): Shape => {
  const known = shapes.get(name);
  if (known) return known;
  const shape = shapeOf(SCHEMAS[name]);
  shapes.set(name, shape);
  return shape;
};

/**
 * Reads a document that a stranger may have written, and checks it as parseDocument does. Unknown fields are checked to be JSON, and
 * left out of the result: do not use it for what is written again or whose signature covers the parsed form.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as for parseDocument
export const readDocument = <T>(
  name: DocumentName,
  bytes: Uint8Array,
  limits: Omit<JsonLimits, 'shape'>,
  what: string,
): T => parseDocument<T>(name, parseStrictJson(bytes, { ...limits, shape: shapeFor(name) }, what), what);
