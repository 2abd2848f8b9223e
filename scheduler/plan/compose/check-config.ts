import type { ErrorObject } from 'ajv';
import { FleetError, type Place } from '#bundles/errors';
import type { DeploymentTarget, PlatformForm, Value } from '../../model/model.ts';
import { parseSchemaText } from '../../load/objects/schema-text.ts';
import type { Composition } from './compose-config.ts';
import { explainConfig, originOf } from './explain-config.ts';
import { readFailure, type WantedValue } from './read-failure.ts';
import { compileSchema } from './schema-drafts.ts';
import { parseFloat64 } from '../../model/go/parse-float.ts';
import { type ConfigMapping, plainValue } from '../../model/plain-value.ts';

/** Checks the configuration of one deployment target; undefined when every schema accepts it. */
export type ConfigCheck = (
  composition: Composition,
  target: DeploymentTarget,
  assignment: string,
) => FleetError | undefined;

type Schema = {
  readonly name: string;
  readonly at: Place;
  readonly coerces: boolean;
  readonly source: Value;
  readonly validate: ((data: unknown) => readonly ErrorObject[] | FleetError) | FleetError;
};
/** One failure of a schema. `wants` describes a missing value. */
export type ConfigFailure = {
  readonly path: readonly string[];
  readonly schema: string;
  readonly text: string;
  readonly at: Place;
  readonly wants: WantedValue | undefined;
};
type Failure = ConfigFailure;

/** Returns all failures of a configuration, or SCHEMA_INVALID for a schema that cannot be used. */
export type ConfigJudge = (
  composition: Composition,
  target: DeploymentTarget,
) => readonly ConfigFailure[] | FleetError;

/**
 * Checks configurations against the schemas that select them and those that the target brings. Each schema is compiled once,
 * and each composition is checked once by each schema.
 */
export const createConfigJudge = (form: PlatformForm): ConfigJudge => {
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
  return (composition, target) => {
    const schemas = [
      ...composition.schemas.map((one) =>
        schemaOf(one, () => toSchema(form, one, one.fault === undefined ? one : { error: one.fault })),
      ),
      ...target.configSchemas.map((text, index) =>
        schemaOf(`${target.coerces === true}\0${text}`, () =>
          toSchema(
            form,
            { ...target, name: `${target.name}/configSchemas[${index}]` },
            parseSchemaText(text),
          ),
        ),
      ),
    ];
    const verdicts = schemas.map((schema) => judge(composition, schema));
    const broken = verdicts.find((verdict) => verdict instanceof FleetError);
    if (broken) return broken;
    return verdicts.flatMap((verdict) => (verdict instanceof FleetError ? [] : verdict));
  };
};

/** Like `createConfigJudge`, with all failures in one error. */
export const createConfigCheck = (form: PlatformForm): ConfigCheck => {
  const judge = createConfigJudge(form);
  return (composition, target, assignment) => {
    const verdict = judge(composition, target);
    if (verdict instanceof FleetError) return verdict;
    return verdict.length === 0 ? undefined : toError(verdict, assignment);
  };
};

const toSchema = (
  form: PlatformForm,
  { name, at, coerces = false }: { readonly name: string; readonly at: Place; readonly coerces?: boolean },
  parsed: { schema: Value } | { error: string },
): Schema => {
  const invalid = (reason: string, cause?: unknown) =>
    new FleetError('SCHEMA_INVALID', `the configuration schema cannot be used: ${reason}`, {
      subject: `ConfigSchema ${name}`,
      at,
      cause,
      hint: cause instanceof FleetError && cause.hint !== undefined ? cause.hint : undefined,
    });
  if ('error' in parsed) return { name, at, coerces, source: null, validate: invalid(parsed.error) };
  const source = parsed.schema;
  try {
    const { judge, schema } = compileSchema(source, form);
    const validate = (data: unknown): readonly ErrorObject[] | FleetError => {
      try {
        return judge(data);
      } catch (error) {
        // The schema fails on these values: too many steps, or an unusable pattern.
        if (error instanceof FleetError) return invalid(error.message, error);
        throw error;
      }
    };
    return { name, at, coerces, source: schema, validate };
  } catch (error) {
    return { name, at, coerces, source, validate: invalid((error as Error).message, error) };
  }
};

const run = (
  form: PlatformForm,
  composition: Composition,
  schema: Schema,
): readonly Failure[] | FleetError => {
  const { validate } = schema;
  if (validate instanceof FleetError) return validate;
  const coerces = form === 'kalypso' || schema.coerces;
  const data = coerces ? judgedValues(composition.values) : composition.plain;
  const errors = validate(data);
  if (errors instanceof FleetError) return errors;
  if (errors.length === 0) return [];
  const origins = explainConfig(composition.layers);
  return errors.map((error) => {
    const { path, says, wants } = readFailure(error, schema.source);
    const place = wants ? undefined : originOf(origins, path)?.at;
    const name = path.length === 0 ? 'the configuration' : path.join('.');
    const text = `${name} ${says}${noteOf(composition, data, path)} (schema ${schema.name})`;
    return { path, schema: schema.name, text, at: place ?? schema.at, wants };
  });
};

/** Explains that a text was checked as a number. */
const noteOf = (
  { plain }: Composition,
  judged: Composition['plain'],
  [key = '', ...more]: readonly string[],
) =>
  more.length === 0 && typeof plain[key] === 'string' && typeof judged[key] === 'number'
    ? `, and Kalypso's form judges ${JSON.stringify(plain[key].slice(0, 40))} as a number`
    : '';

const SHOWN = 5;

const toError = (failures: readonly Failure[], assignment: string): FleetError => {
  const texts = failures.slice(0, SHOWN).map((failure) => failure.text);
  const more = failures.length > SHOWN ? `; and ${failures.length - SHOWN} more` : '';
  return new FleetError('CONFIG_SCHEMA', `${texts.join('; ')}${more}`, {
    subject: assignment,
    at: (failures[0] as Failure).at,
    hint: failures.every(({ wants }) => wants)
      ? 'Set it in a Config that selects this assignment, or change the schema'
      : 'Change the value, or the schema',
  });
};

/**
 * Returns the values that Kalypso passes to gojsonschema: a top-level string that Go parses as a number becomes that number (behaviour
 * spec 2.5). Templates get the strings.
 */
export const judgedValues = (values: ConfigMapping): { readonly [key: string]: Value } =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      // An integer that a double would round is a number all the same.
      typeof value === 'string' ? (parseFloat64(value) ?? value) : plainValue(value, Number),
    ]),
  );
