import type { Value } from '../platform/model.ts';

type Mapping = { readonly [key: string]: Value };

/** Keywords whose value is data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'default', 'const', 'examples', 'required', 'type']);
/** Keywords whose value maps names to schemas: a name may look like a keyword. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'definitions',
  'dependencies',
]);

/** Rewrites a draft 4 schema to draft 7: `id` becomes `$id`, exclusive limits become numbers. */
export const upgradeDraft04 = (schema: Value): Value => {
  if (Array.isArray(schema)) return schema.map((item: Value) => upgradeDraft04(item));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries: [string, Value][] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Mapping;
  for (const [key, value] of Object.entries(schema as Mapping)) {
    if (key === '$schema') continue;
    if (key === 'id' && typeof value === 'string') entries.push(['$id', value]);
    else if (key === 'minimum' && exclusiveMinimum === true)
      entries.push(['exclusiveMinimum', minimum as Value]);
    else if (key === 'maximum' && exclusiveMaximum === true)
      entries.push(['exclusiveMaximum', maximum as Value]);
    else if ((key === 'exclusiveMinimum' || key === 'exclusiveMaximum') && typeof value === 'boolean')
      continue;
    else if (DATA.has(key)) entries.push([key, value]);
    else if (NAMED.has(key) && typeof value === 'object' && value !== null && !Array.isArray(value))
      entries.push([
        key,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, upgradeDraft04(one)])),
      ]);
    else entries.push([key, upgradeDraft04(value)]);
  }
  return Object.fromEntries(entries);
};
