import { isIP, isIPv4 } from 'node:net';
import { Ajv, type AnySchema, type ErrorObject, type Options } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' };
import { FleetError } from '#bundles/errors';
import type { Value } from '../platform/model.ts';
import { compilePattern, testPattern } from '../validate/test-pattern.ts';
import { upgradeDraft04 } from './upgrade-draft-04.ts';

/** A pattern that cannot run for ever. @throws FleetError SCHEMA_INVALID when it is none */
function safePattern(pattern: string): { readonly test: (text: string) => boolean } {
  compilePattern(pattern);
  return { test: (text) => testPattern(pattern, text) };
}

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  // A schema cannot reach out: without loadSchema a remote $ref is an error when it is compiled.
  validateSchema: true,
  allowUnionTypes: true,
  verbose: true,
  // Every reference is a call, and every call is paid for: references that multiply would run for ever.
  inlineRefs: false,
  passContext: true,
  code: {
    regExp: Object.assign(safePattern, { code: 'safePattern' }),
    process: (code: string) =>
      code.replaceAll(/(function validate\d+\(data, \{.*?\}=\{\}\)\{)/g, '$1this?.spend?.();'),
  },
};

/** Schemas of people take a few thousand for their largest values. */
const MAX_CALLS = 200_000;

/** Everything that is wrong with a value; nothing when it is right. @throws FleetError SCHEMA_INVALID where judging would not end */
export type SchemaCheck = (data: unknown) => readonly ErrorObject[];

type Engine = Pick<Ajv, 'compile' | 'addFormat'>;

/** A server has the same schema again in every build, and an engine takes its time. */
const compiled = new WeakMap<object, SchemaCheck>();

/**
 * Compiles a JSON Schema of any draft from 4 to 2020-12, told by its `$schema` (draft 7 without one).
 * @throws Error when it is no schema, or refers to something outside of itself
 */
export const compileSchema = (schema: Value): SchemaCheck => {
  if (typeof schema !== 'object' || schema === null) return compileNew(schema);
  const check = compiled.get(schema) ?? compileNew(schema);
  compiled.set(schema, check);
  return check;
};

const compileNew = (schema: Value): SchemaCheck => {
  const draft = draftOf(schema);
  const validate = compileWith(
    withFormats(engineFor(draft)),
    draft === '04' ? upgradeDraft04(schema) : schema,
  );
  return (data) => {
    let calls = 0;
    const context = {
      spend: () => {
        calls += 1;
        if (calls > MAX_CALLS) throw tooMuch('its references multiply, and judging by it would not end');
      },
    };
    try {
      return validate.call(context, data) ? [] : (validate.errors ?? []);
    } catch (error) {
      // A reference that comes back to itself without going into the value.
      if (error instanceof RangeError) throw tooMuch('it refers to itself without end');
      throw error;
    }
  };
};

const tooMuch = (why: string): FleetError => new FleetError('SCHEMA_INVALID', why);

const compileWith = (engine: Engine, schema: Value): ReturnType<Engine['compile']> => {
  try {
    return engine.compile(schema as AnySchema);
  } catch (error) {
    if (error instanceof RangeError) throw tooMuch('it nests too deep');
    const ref = error instanceof Error && 'missingRef' in error ? String(error.missingRef) : undefined;
    if (ref === undefined) throw error;
    throw tooMuch(
      `it refers to ${ref}, which is not in it, and nothing is fetched: write that schema into it`,
    );
  }
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

/** A new engine for each schema: two schemas may have the same $id. */
const engineFor = (draft: Draft): Engine => {
  switch (draft) {
    case '2019':
      return new Ajv2019(OPTIONS);
    case '2020':
      return new Ajv2020(OPTIONS);
    case '06':
      return new Ajv(OPTIONS).addMetaSchema(draft6);
    case '04':
    case '07':
      return new Ajv(OPTIONS);
  }
};

/** The formats configuration uses; others are not judged. */
const withFormats = (engine: Engine): Engine => {
  const formats: Readonly<Record<string, (text: string) => boolean>> = {
    ipv4: isIPv4,
    ipv6: (text) => isIP(text) === 6,
    hostname: (text) =>
      text.length <= 253 && /^(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/i.test(text),
    uri: (text) => /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text),
    'uri-reference': (text) => URL.canParse(text, 'http://host/'),
    email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
    date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDate(text),
    'date-time': (text) =>
      /^\d{4}-\d{2}-\d{2}t\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:z|[+-]\d{2}:\d{2})$/i.test(text) &&
      isDate(text.slice(0, 10)),
    uuid: (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
    regex: (text) => {
      try {
        return new RegExp(text, 'u') instanceof RegExp;
      } catch {
        return false;
      }
    },
  };
  for (const [name, test] of Object.entries(formats)) engine.addFormat(name, test);
  return engine;
};

const isDate = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
};
