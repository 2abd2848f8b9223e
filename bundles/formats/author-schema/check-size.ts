import { FleetError } from '../../errors.ts';
import { isRecord } from '../../is-record.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Applicators in place: their subschemas validate the same value again. */
const IN_PLACE: ReadonlySet<string> = new Set(
  '$ref allOf anyOf oneOf not if then else dependentSchemas dependencies'.split(' '),
);
/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required', 'type']);
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(
  'properties patternProperties definitions $defs dependentSchemas dependencies'.split(' '),
);

/** Limits of a schema document. Compiling at the limit takes a few seconds for `maxValues` of 10,000, half a second for 2,000. */
export type SizeLimits = {
  /** Number of JSON values, without those inside enum, const and default. */
  readonly maxValues: number;
};
const MAX_DATA = 100_000;
const MAX_DEPTH = 100;
/** Branches of one oneOf: Ajv nests the code of each branch in that of the previous one. */
const MAX_BRANCHES = 500;
/** Subschemas that validate one value, with references followed. */
const MAX_JUDGEMENTS = 10_000;

/**
 * Rejects a schema that is too expensive to compile or to validate by, before it is compiled: too many values, nested too deep,
 * references that multiply (40 levels of two each are 2^40 validations) or that return to themselves on the same value. Cost that depends on
 * the value, such as recursion into its fields, is bounded during validation (MAX_STEPS).
 * @throws FleetError SCHEMA_INVALID
 */
export const checkSize = (schema: unknown, limits: SizeLimits): void => {
  const roots = walk(schema, limits);
  const known = new Map<object, number>();
  const open = new Set<object>();
  /** Number of subschemas that validate the value of `node`, itself included. */
  const judgements = (node: object): number => {
    const done = known.get(node);
    if (done !== undefined) return done;
    if (open.has(node)) throw refusal('it refers to itself without end');
    open.add(node);
    let sum = 1;
    for (const next of inPlace(node as Fields, roots.get(node))) {
      sum += judgements(next);
      if (sum > MAX_JUDGEMENTS)
        throw refusal(
          `its references multiply: one value would be judged by more than ${MAX_JUDGEMENTS} schemas`,
        );
    }
    open.delete(node);
    known.set(node, sum);
    return sum;
  };
  for (const node of roots.keys()) judgements(node);
};

const refusal = (why: string): FleetError =>
  new FleetError('SCHEMA_INVALID', why, { hint: 'Make the schema smaller, or write a part of it out' });

/** A schema resource (JSON Schema core, section 4.3.5): the base of the references in it. */
type Resource = { readonly top: Fields; readonly anchors: Map<string, object> };
type Kind = 'schema' | 'named' | 'data';

/** Returns each subschema with the resource it belongs to. @throws FleetError SCHEMA_INVALID past a limit */
const walk = (schema: unknown, { maxValues }: SizeLimits): Map<object, Resource> => {
  const schemas = new Map<object, Resource>();
  let [values, data] = [0, 0];
  const visit = (value: unknown, inside: Resource | undefined, depth: number, kind: Kind): void => {
    if (kind === 'data') data += 1;
    else values += 1;
    if (values > maxValues) throw refusal(`it has more than ${maxValues} values`);
    if (data > MAX_DATA) throw refusal(`its enumerations have more than ${MAX_DATA} values`);
    if (depth > MAX_DEPTH) throw refusal(`it nests deeper than ${MAX_DEPTH} levels`);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, inside, depth + 1, kind);
      return;
    }
    const fields = value as Fields;
    let resource = inside;
    if (kind === 'schema') {
      if (!resource || typeof fields['$id'] === 'string') resource = { top: fields, anchors: new Map() };
      schemas.set(fields, resource);
      checkKeywords(fields);
      const { $anchor: anchor } = fields;
      if (typeof anchor === 'string') resource.anchors.set(anchor, fields);
    }
    for (const [key, one] of Object.entries(fields)) {
      if (key === '__proto__' && kind === 'named') throw refusal('a property cannot be called __proto__');
      visit(one, resource, depth + 1, kindOf(kind, key));
    }
  };
  visit(schema, undefined, 0, 'schema');
  return schemas;
};

/** Returns the kind of the value under a key. */
const kindOf = (kind: Kind, key: string): Kind => {
  if (kind !== 'schema') return kind === 'named' ? 'schema' : 'data';
  if (DATA.has(key)) return 'data';
  return NAMED.has(key) ? 'named' : 'schema';
};

const checkKeywords = ({ $async: async, oneOf }: Fields): void => {
  // A keyword of Ajv: validation would return a promise, which no caller awaits.
  if (async !== undefined) throw refusal('$async is not a keyword of JSON Schema');
  if (Array.isArray(oneOf) && oneOf.length > MAX_BRANCHES)
    throw refusal(`a oneOf has more than ${MAX_BRANCHES} branches`);
};

const inPlace = function* (node: Fields, resource: Resource | undefined): Generator<object> {
  for (const [key, value] of Object.entries(node)) {
    if (!IN_PLACE.has(key)) continue;
    if (key === '$ref') {
      const target = typeof value === 'string' && resource ? resolve(resource, value) : undefined;
      if (target) yield target;
    } else if (Array.isArray(value) || NAMED.has(key)) {
      for (const one of Object.values(value as object) as unknown[]) if (isSchema(one)) yield one;
    } else if (isSchema(value)) yield value;
  }
};

const isSchema = (value: unknown): value is object => isRecord(value);

/** Resolves a pointer or an anchor inside one resource. References to other resources cost steps during validation. */
const resolve = ({ top, anchors }: Resource, reference: string): object | undefined => {
  if (!reference.startsWith('#')) return undefined;
  if (!/^#(?:\/|$)/.test(reference)) return anchors.get(reference.slice(1));
  let found: unknown = top;
  for (const token of reference.slice(1).split('/').slice(1)) {
    const name = unescape(token);
    found = isContainer(found) && Object.hasOwn(found, name) ? (found as Fields)[name] : undefined;
  }
  return isSchema(found) ? found : undefined;
};

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const unescape = (token: string): string => {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return token;
  }
};
