import { FleetError } from '#bundles/errors';

type Fields = Readonly<Record<string, unknown>>;

/** Keywords whose schemas judge the same value: each reference in them is one more judgement of it. */
const IN_PLACE: ReadonlySet<string> = new Set(
  '$ref allOf anyOf oneOf not if then else dependentSchemas dependencies'.split(' '),
);
/** Keywords whose value is data. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required', 'type']);
/** Keywords whose value maps names to schemas. */
const NAMED: ReadonlySet<string> = new Set(
  'properties patternProperties definitions $defs dependentSchemas dependencies'.split(' '),
);

/** Bounds on the text of a schema. Compiling one at the bound takes a few seconds for `maxValues` of 10,000, half a second for 2,000. */
export type SizeLimits = {
  /** Values in the text, those of enum, const and default apart. */
  readonly maxValues: number;
};
const MAX_DATA = 100_000;
const MAX_DEPTH = 100;
/** Branches of one oneOf: Ajv nests the code of each in that of the one before. */
const MAX_BRANCHES = 500;
/** Schemas that one value may be judged by, references followed. */
const MAX_JUDGEMENTS = 10_000;

/**
 * Refuses a schema that would cost too much to compile or to judge by, from its text alone, before anything is compiled: too many nodes,
 * nested too deep, references that multiply (40 of two each are 2^40 judgements) or return to themselves on the same value. What
 * depends on the value too, such as recursion into its fields, is bounded when it is judged (newMeter).
 * @throws FleetError SCHEMA_INVALID
 */
export const checkSize = (schema: unknown, limits: SizeLimits): void => {
  const roots = walk(schema, limits);
  const known = new Map<object, number>();
  const open = new Set<object>();
  /** Schemas that judge the value which `node` judges, itself included. */
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

/** A part of a schema with an identity of its own: references in it begin there. */
type Resource = { readonly top: Fields; readonly anchors: Map<string, object> };
type Kind = 'schema' | 'named' | 'data';

/** Each schema in a text, with the resource that it belongs to. */
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

/** What stands under a key of something of this kind. */
const kindOf = (kind: Kind, key: string): Kind => {
  if (kind !== 'schema') return kind === 'named' ? 'schema' : 'data';
  if (DATA.has(key)) return 'data';
  return NAMED.has(key) ? 'named' : 'schema';
};

const checkKeywords = ({ $async: async, oneOf }: Fields): void => {
  // A keyword of Ajv: its check would return a promise, which no caller waits for.
  if (async !== undefined) throw refusal('$async is no keyword of JSON Schema');
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

const isSchema = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Where a pointer or an anchor of the same resource leads. References to other resources are counted when they are followed. */
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
