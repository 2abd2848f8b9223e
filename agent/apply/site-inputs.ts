import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { BundleConfig, SiteInputField } from '#bundles/bundle/config';
import type { Json } from '#bundles/canonical';
import { FleetError } from '#bundles/errors';
import type { SiteValues } from '#bundles/statements/predicates';

export type ResolvedInput = SiteInputField & { readonly value: Json };

/**
 * The site's values, an agent's own over them, validated by the bundle's schema and put to the fields that ask for them.
 * A field whose value the schema lets be absent keeps what the package says. Values are never in a message.
 * @throws FleetError SITE_VALUES
 */
export const resolveInputs = (
  config: BundleConfig,
  document: SiteValues,
  agent: string,
): readonly ResolvedInput[] => {
  const { schema, fields } = config.siteInputs;
  const values = { ...document.values, ...document.agents[agent] };
  const validate = compile(schema);
  if (!validate(values)) {
    throw new FleetError(
      'SITE_VALUES',
      `the values of site ${document.site} do not fit what this bundle needs: ${say(validate.errors?.[0])}`,
      { hint: 'Ask the platform team to complete the values of this site' },
    );
  }
  return fields
    .filter(({ input }) => Object.hasOwn(values, input))
    .map((field) => ({ ...field, value: values[field.input] as Json }));
};

const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, logger: false });
/** The last few schemas by their text: every look of the daemon asks for the same one, package by package. */
const compiled = new Map<string, ValidateFunction>();
const MAX_COMPILED = 8;

const compile = (schema: BundleConfig['siteInputs']['schema']): ValidateFunction => {
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
