import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { BundleConfig } from '#bundles/bundle/config';
import { FleetError } from '#bundles/errors';

type Schema = BundleConfig['siteInputs']['schema'];

/**
 * Holds a site's values against the schema that its bundle brings: any JSON Schema that a platform team wrote.
 * @returns the first mistake, without the value; undefined where they fit @throws FleetError SITE_VALUES where it is no schema
 */
export const judgeValues = (
  schema: Schema,
  values: Readonly<Record<string, unknown>>,
): string | undefined => {
  const validate = compile(schema);
  return validate(values) ? undefined : say(validate.errors?.[0]);
};

const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, logger: false });
/** The last few schemas by their text: every look of the daemon asks for the same one, package by package. */
const compiled = new Map<string, ValidateFunction>();
const MAX_COMPILED = 8;

const compile = (schema: Schema): ValidateFunction => {
  const text = JSON.stringify(schema);
  const known = compiled.get(text);
  if (known) return known;
  try {
    const validate = ajv.compile(schema);
    // Ajv would keep every schema for ever.
    ajv.removeSchema(schema);
    const [oldest] = compiled.keys();
    if (compiled.size === MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
    compiled.set(text, validate);
    return validate;
  } catch (cause) {
    throw new FleetError('SITE_VALUES', "the bundle's schema of site values is no JSON Schema", { cause });
  }
};

const say = (error: ErrorObject | undefined): string => {
  const place = error?.instancePath.slice(1) ?? '';
  return `${place === '' ? 'they' : place} ${error?.message ?? 'do not fit'}`;
};
