import type { ErrorObject, ValidateFunction } from 'ajv';
import { FleetError, type Place } from '#bundles/errors';
import type { DeploymentTarget, PlatformForm, Value } from '../platform/model.ts';
import { parseSchemaText } from '../platform/objects/schema-text.ts';
import type { Composition } from './compose-config.ts';
import { explainConfig, originOf } from './explain-config.ts';
import { compileSchema } from './schema-drafts.ts';

/** Judges the configuration of one deployment target; `undefined` when every schema accepts it. */
export type ConfigCheck = (
  composition: Composition,
  target: DeploymentTarget,
  assignment: string,
) => FleetError | undefined;

type Schema = { readonly name: string; readonly at: Place; readonly validate: ValidateFunction | FleetError };
type Failure = { readonly text: string; readonly at: Place; readonly missing: boolean };

/**
 * Checks configurations against the schemas that select them and those the target brings along. Each schema is compiled
 * once, each composition judged once by each schema.
 */
export const createConfigCheck = (form: PlatformForm): ConfigCheck => {
  const compiled = new Map<unknown, Schema>();
  const judged = new WeakMap<Composition, Map<Schema, readonly Failure[] | FleetError>>();
  const schemaOf = (key: unknown, make: () => Schema): Schema => {
    const schema = compiled.get(key) ?? make();
    compiled.set(key, schema);
    return schema;
  };
  const judge = (composition: Composition, schema: Schema): readonly Failure[] | FleetError => {
    const known = judged.get(composition) ?? new Map<Schema, readonly Failure[] | FleetError>();
    judged.set(composition, known);
    const verdict = known.get(schema) ?? run(form, composition, schema);
    known.set(schema, verdict);
    return verdict;
  };
  return (composition, target, assignment) => {
    const schemas = [
      ...composition.schemas.map((one) =>
        schemaOf(one, () => toSchema(one.name, one.at, { schema: one.schema })),
      ),
      ...target.configSchemas.map((text, index) =>
        schemaOf(text, () =>
          toSchema(`${target.name}/configSchemas[${index}]`, target.at, parseSchemaText(text)),
        ),
      ),
    ];
    const verdicts = schemas.map((schema) => judge(composition, schema));
    const broken = verdicts.find((verdict) => verdict instanceof FleetError);
    if (broken) return broken;
    const failures = verdicts.flatMap((verdict) => (verdict instanceof FleetError ? [] : verdict));
    return failures.length === 0 ? undefined : toError(failures, assignment);
  };
};

const toSchema = (name: string, at: Place, parsed: { schema: Value } | { error: string }): Schema => {
  const invalid = (reason: string, cause?: unknown) =>
    new FleetError('SCHEMA_INVALID', `the configuration schema cannot be used: ${reason}`, {
      subject: `ConfigSchema ${name}`,
      at,
      cause,
    });
  if ('error' in parsed) return { name, at, validate: invalid(parsed.error) };
  try {
    return { name, at, validate: compileSchema(parsed.schema) };
  } catch (error) {
    return { name, at, validate: invalid((error as Error).message, error) };
  }
};

const run = (
  form: PlatformForm,
  composition: Composition,
  schema: Schema,
): readonly Failure[] | FleetError => {
  const { validate } = schema;
  if (validate instanceof FleetError) return validate;
  const data = form === 'kalypso' ? coerceNumbers(composition.plain) : composition.plain;
  if (validate(data)) return [];
  const origins = explainConfig(composition.layers);
  return (validate.errors ?? []).map((error) => {
    const { path, says, missing } = read(error);
    const place = missing ? undefined : originOf(origins, path)?.at;
    const name = path.length === 0 ? 'the configuration' : path.join('.');
    return { text: `${name} ${says} (schema ${schema.name})`, at: place ?? schema.at, missing };
  });
};

/**
 * Kalypso judges a top-level string that looks like a number as that number (behaviour spec 2.5). The values that
 * templates see stay strings.
 */
const coerceNumbers = (values: { readonly [key: string]: Value }): { readonly [key: string]: Value } =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'string' ? coerce(value) : value]),
  );

const coerce = (text: string): Value =>
  /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text) && Number.isFinite(Number(text))
    ? Number(text)
    : text;

const read = (error: ErrorObject): { path: readonly string[]; says: string; missing: boolean } => {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const params = error.params as Readonly<Record<string, unknown>>;
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(params.missingProperty)], says: 'is missing', missing: true };
    case 'additionalProperties':
      return { path: [...path, String(params.additionalProperty)], says: 'is not allowed', missing: false };
    case 'unevaluatedProperties':
      return { path: [...path, String(params.unevaluatedProperty)], says: 'is not allowed', missing: false };
    case 'enum':
      return { path, says: `must be one of ${JSON.stringify(params.allowedValues)}`, missing: false };
    case 'const':
      return { path, says: `must be ${JSON.stringify(params.allowedValue)}`, missing: false };
    default:
      return { path, says: error.message ?? `fails ${error.keyword}`, missing: false };
  }
};

const SHOWN = 5;

const toError = (failures: readonly Failure[], assignment: string): FleetError => {
  const texts = failures.slice(0, SHOWN).map((failure) => failure.text);
  const more = failures.length > SHOWN ? `; and ${failures.length - SHOWN} more` : '';
  return new FleetError('CONFIG_SCHEMA', `${texts.join('; ')}${more}`, {
    subject: assignment,
    at: (failures[0] as Failure).at,
    hint: failures.every(({ missing }) => missing)
      ? 'Set it in a Config that selects this assignment, or change the schema'
      : 'Change the value, or the schema',
  });
};
