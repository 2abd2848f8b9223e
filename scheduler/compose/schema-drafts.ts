import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' };
import { compileAuthorSchema } from '#bundles/author-schema/compile-author-schema';
import type { PlatformForm, Value } from '../platform/model.ts';
import { withExactMultiples } from './exact-multiples.ts';
import { GOJSONSCHEMA_FORMATS } from './gojsonschema/formats.ts';
import { toDraft07 } from './gojsonschema/to-draft-07.ts';
import { FORMATS } from './schema-formats.ts';
import { upgradeDraft04 } from './upgrade-draft-04.ts';

const OPTIONS: Options = { strict: false, allowUnionTypes: true, verbose: true };
const LIMITS = { maxValues: 10_000 };

export type SchemaCheck = {
  /** Everything that is wrong with a value; nothing when it is right. @throws FleetError SCHEMA_INVALID where judging takes too long */
  readonly judge: (data: unknown) => readonly ErrorObject[];
  /** The schema that the errors' references lead into. */
  readonly schema: Value;
};

/** A server has the same schema again in every build, and an engine takes its time. */
const compiled: Readonly<Record<PlatformForm, WeakMap<object, SchemaCheck>>> = {
  fleet: new WeakMap(),
  kalypso: new WeakMap(),
};

/**
 * Compiles a JSON Schema of any draft from 4 to 2020-12, told by its `$schema` (draft 7 without one). In Kalypso's form it is read, and
 * judges, as gojsonschema does.
 * @throws FleetError SCHEMA_INVALID when it costs too much, or refers to something outside of itself
 * @throws Error when it is no schema
 */
export const compileSchema = (schema: Value, form: PlatformForm): SchemaCheck => {
  if (typeof schema !== 'object' || schema === null) return compileNew(schema, form);
  const check = compiled[form].get(schema) ?? compileNew(schema, form);
  compiled[form].set(schema, check);
  return check;
};

const compileNew = (schema: Value, form: PlatformForm): SchemaCheck => {
  if (form === 'kalypso') return compileKalypso(schema);
  const draft = draftOf(schema);
  const judge = compileAuthorSchema(draft === '04' ? upgradeDraft04(schema) : schema, {
    engine: (options) => withExactMultiples(engineFor(draft, options)),
    patterns: 'ecma',
    limits: LIMITS,
    formats: FORMATS,
    options: OPTIONS,
  });
  return { judge, schema };
};

const compileKalypso = (written: Value): SchemaCheck => {
  const schema = toDraft07(written);
  const judge = compileAuthorSchema(schema, {
    engine: (options) => withExactMultiples(new Ajv(options)),
    patterns: 're2',
    limits: LIMITS,
    formats: GOJSONSCHEMA_FORMATS,
    // Its reader has checked it.
    options: { ...OPTIONS, validateSchema: false },
  });
  return { judge, schema };
};

type Draft = '04' | '06' | '07' | '2019' | '2020';

const draftOf = (schema: Value): Draft => {
  const named =
    typeof schema === 'object' && schema !== null && !Array.isArray(schema)
      ? (schema as { $schema?: Value }).$schema
      : '';
  const name = typeof named === 'string' ? named : '';
  if (name.includes('draft-04')) return '04';
  if (name.includes('draft-06')) return '06';
  if (name.includes('2019-09')) return '2019';
  if (name.includes('2020-12')) return '2020';
  return '07';
};

const engineFor = (draft: Draft, options: Options): Ajv => {
  switch (draft) {
    case '2019':
      return new Ajv2019(options);
    case '2020':
      return new Ajv2020(options);
    case '06':
      return new Ajv(options).addMetaSchema(draft6, undefined, false);
    case '04':
    case '07':
      return new Ajv(options);
  }
};
