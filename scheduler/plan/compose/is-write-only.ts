import { isRecord } from '#bundles/is-record';
import type { Value } from '../../model/model.ts';

type Mapping = { readonly [key: string]: Value };

const asMapping = (value: Value | undefined): Mapping => (isRecord(value) ? value : {});

/** Upper bound on visited subschemas; beyond it a value counts as write-only, and is not shown. */
const MAX_STEPS = 10_000;

/**
 * Whether a JSON Schema has `writeOnly: true` for the value at this path, or for one that contains it. Such a value is not
 * shown.
 */
export const isWriteOnly = (schema: Value, path: readonly string[]): boolean => {
  let steps = 0;
  const visit = (part: Value | undefined, rest: readonly string[], seen: readonly Value[]): boolean => {
    steps += 1;
    const here = asMapping(part);
    if (steps > MAX_STEPS) return true;
    if (part === undefined || seen.includes(here)) return false;
    if (here.writeOnly === true) return true;
    const same = (one: Value | undefined): boolean => visit(one, rest, [...seen, here]);
    for (const name of ['allOf', 'anyOf', 'oneOf']) {
      const parts = here[name];
      if (Array.isArray(parts) && (parts as readonly Value[]).some(same)) return true;
    }
    for (const name of ['if', 'then', 'else']) if (same(here[name])) return true;
    if (typeof here.$ref === 'string' && same(resolve(schema, here.$ref))) return true;
    const [key, ...more] = rest;
    if (key === undefined) return false;
    const properties = asMapping(here.properties);
    const inner = [
      Object.hasOwn(properties, key) ? properties[key] : undefined,
      ...Object.values(asMapping(here.patternProperties)),
      here.additionalProperties,
      ...(Array.isArray(here.items) ? (here.items as readonly Value[]) : [here.items]),
      ...(Array.isArray(here.prefixItems) ? (here.prefixItems as readonly Value[]) : []),
    ];
    return inner.some((one) => visit(one, more, []));
  };
  return visit(schema, path, []);
};

/** Resolves a reference within the schema. */
const resolve = (schema: Value, ref: string): Value | undefined => {
  if (!ref.startsWith('#')) return undefined;
  let found: Value | undefined = schema;
  for (const part of ref.slice(1).split('/').filter(Boolean))
    found = asMapping(found)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  return found;
};
