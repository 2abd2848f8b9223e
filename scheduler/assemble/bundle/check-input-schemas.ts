import { compileSiteSchema } from '#bundles/formats/author-schema/compile-site-schema';
import { parseBundleJson } from '#bundles/formats/bundle/config';
import { FleetError, type Place } from '#bundles/errors';
import { canonicalBytes } from '#bundles/json/canonical';
import type { Value } from '../../model/model.ts';
import { describedSchema, judgedPart, type SiteInputAbout } from '../../model/site-input.ts';

type Input = SiteInputAbout & { readonly at: Place };

/** As many as the schema of a whole bundle may have where agents judge by it: each input costs milliseconds. */
const MAX_VALUES = 10_000;

/**
 * Checks that each site input of a package has a valid schema, one for each name, and a default and an example that fit it.
 * @throws FleetError SCHEMA_INVALID, FIELD_INVALID, OBJECT_CLASH with the place of the input
 */
export const checkInputSchemas = (inputs: readonly Input[]): void => {
  const schemas = new Map<string, string>();
  let values = 0;
  for (const input of inputs) {
    const schema = describedSchema(input);
    const judged = judgedPart(schema);
    const known = schemas.get(input.name);
    if (known === judged) continue;
    if (known !== undefined)
      throw inputFault(
        'OBJECT_CLASH',
        input,
        'has two different schemas',
        'Make them the same, or rename one',
      );
    values += valuesIn(schema);
    if (values > MAX_VALUES)
      throw inputFault(
        'SCHEMA_INVALID',
        input,
        `is one of too many: the schemas of all inputs have more than ${MAX_VALUES} values`,
        'Make one input of several, or the schemas smaller',
      );
    checkSchema(input, schema);
    schemas.set(input.name, judged);
  }
};

const valuesIn = (value: Value): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one: Value) => sum + valuesIn(one), 1)
    : 1;

/** The schema as in the bundle, where a `$ref` to `#` refers to the whole document. */
const checkSchema = (input: Input, described: Input['schema']): void => {
  const check = compiled(input, described);
  for (const what of ['default', 'example'] as const) {
    const value = input[what];
    if (value === undefined) continue;
    const [wrong] = check({ [input.name]: value });
    if (wrong)
      throw inputFault(
        'FIELD_INVALID',
        input,
        `has the ${what} ${JSON.stringify(value)}, which does not fit its schema: it ${wrong.message ?? 'is not valid'}`,
        `Change the ${what}, or the schema`,
      );
  }
};

const compiled = (input: Input, described: Input['schema']): ReturnType<typeof compileSiteSchema> => {
  const as = (schema: Input['schema']) => ({ type: 'object', properties: { [input.name]: schema } });
  try {
    // A schema that nests deeper than a bundle config may would make every agent refuse the bundle.
    parseBundleJson(canonicalBytes({ siteInputs: { schema: as(described) } }, 'doubles'));
    // Compiled without our annotations, which strict compilation would refuse as unknown keywords.
    const check = compileSiteSchema(as(input.schema), 'build');
    // Validates a value that cannot be valid, so that lazily compiled parts of the schema fail here and not at a site.
    check({});
    return check;
  } catch (error) {
    const hint = error instanceof FleetError ? error.hint : undefined;
    throw inputFault(
      'SCHEMA_INVALID',
      input,
      `has a schema that cannot be used: ${(error as Error).message}`,
      hint ?? 'Write it in JSON Schema 2020-12',
    );
  }
};

export const inputFault = (
  code: 'REFERENCE_MISSING' | 'FIELD_INVALID' | 'SCHEMA_INVALID' | 'OBJECT_CLASH' | 'OUT_OF_BOUNDS',
  { name, at }: Pick<Input, 'name' | 'at'>,
  says: string,
  hint: string,
): FleetError => new FleetError(code, `site input ${name} ${says}`, { at, hint });
