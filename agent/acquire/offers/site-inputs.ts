import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import type { BundleConfig, SiteInputField } from '#bundles/formats/bundle/config';
import type { Json } from '#bundles/json/canonical';
import { FleetError } from '#bundles/errors';
import type { SiteValues } from '#bundles/formats/statements/predicates';

export type ResolvedInput = SiteInputField & { readonly value: Json };

/**
 * Resolves the fields that take site values. Values of the agent override those of the site, and all are validated by the
 * bundle's schema. A field whose optional value is absent keeps the package's content. Messages never contain values.
 * @param assignment limits the result to fields of one package. An input whose part of the schema is too expensive or not a
 *   valid JSON Schema fails only the packages that use it; without an assignment it is skipped
 * @throws FleetError SITE_VALUES
 */
export const resolveInputs = async (
  config: BundleConfig,
  document: SiteValues,
  agent: string,
  assignment?: string,
): Promise<readonly ResolvedInput[]> => {
  const { schema, fields } = config.siteInputs;
  const values = valuesOfAgent(document, agent);
  const wanted =
    assignment === undefined ? fields : fields.filter((field) => field.assignment === assignment);
  const { wrong, unusable } = await judgeSiteValues(schema, values);
  if (wrong !== undefined)
    throw new FleetError(
      'SITE_VALUES',
      `the values of site ${document.site} do not fit what this bundle needs: ${wrong}`,
      { hint: 'Ask the platform team to complete the values of this site' },
    );
  const unjudged = wanted.find(({ input }) => unusable.has(input));
  if (unjudged && assignment !== undefined)
    throw new FleetError(
      'SITE_VALUES',
      `the value ${unjudged.input} of site ${document.site} cannot be judged by the schema of the package: ${unusable.get(unjudged.input)}`,
      { subject: assignment, hint: 'Ask the application team to simplify the schema of this site input' },
    );
  return wanted
    .filter(({ input }) => Object.hasOwn(values, input))
    .map((field) => ({ ...field, value: values[field.input] as Json }));
};
