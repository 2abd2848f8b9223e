import { judgeSiteValues, valuesOfAgent } from '#bundles/author-schema/judge-site-values';
import type { BundleConfig, SiteInputField } from '#bundles/bundle/config';
import type { Json } from '#bundles/canonical';
import { FleetError } from '#bundles/errors';
import type { SiteValues } from '#bundles/statements/predicates';

export type ResolvedInput = SiteInputField & { readonly value: Json };

/**
 * The site's values, an agent's own over them, validated by the bundle's schema and put to the fields that ask for them.
 * A field whose value the schema lets be absent keeps what the package says. Values are never in a message.
 * @param assignment whose fields are wanted, all without it. An input that cannot be judged, because its part of the schema costs too
 *   much or is no JSON Schema, fails the packages that have it and no others: without an assignment it is passed over.
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
