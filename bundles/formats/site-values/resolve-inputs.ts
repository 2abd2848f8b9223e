import { differByAssignment, judgeSiteValues, valuesOfAgent } from '../author-schema/judge-site-values.ts';
import type { InputFault } from '../author-schema/judge-values.ts';
import { defaultsOf } from '../author-schema/value-places.ts';
import { siteFields } from '../bounds/site-fields.ts';
import type { BundleConfig, SiteInputField } from '../bundle/config.ts';
import type { Json } from '../../json/canonical.ts';
import { FleetError } from '../../errors.ts';
import type { SiteValues } from '../statements/predicates.ts';

export type ResolvedInput = SiteInputField & { readonly value: Json };

/**
 * Resolves the fields that take site values. Values of the agent override those of the site, these the `default` of the schema, and all
 * are validated by the bundle's schema. A field without any keeps the package's content. Messages never contain values.
 * @param assignment limits the result to fields of one package, and fails if one of its inputs is missing, does not fit or cannot be judged.
 *   Without it only a fault that no single input causes fails: an input that a tenant asks for is no fault of other packages
 * @throws FleetError SITE_VALUES
 */
export const resolveInputs = async (
  config: BundleConfig,
  document: SiteValues,
  agent: string,
  assignment?: string,
): Promise<readonly ResolvedInput[]> => {
  if (assignment === undefined && differByAssignment(document, agent))
    return await resolveEach(config, document, agent);
  const { schema } = config.siteInputs;
  const given = valuesOfAgent(document, agent, assignment);
  const values = { ...defaultsOf(schema), ...given };
  const fields = siteFields(config, Object.keys(given));
  const wanted =
    assignment === undefined ? fields : fields.filter((field) => field.assignment === assignment);
  const only = assignment === undefined ? undefined : new Set(wanted.map(({ input }) => input));
  const { wrong, faults } = await judgeSiteValues(schema, values, only);
  if (wrong !== undefined)
    throw new FleetError(
      'SITE_VALUES',
      `the values of site ${document.site} do not fit what this bundle needs: ${wrong}`,
      { hint: COMPLETE },
    );
  const [fault] = faults;
  if (assignment !== undefined && fault) throw faultOf(document.site, assignment, ...fault);
  return wanted
    .filter(({ input }) => Object.hasOwn(values, input))
    .map((field) => ({ ...field, value: values[field.input] as Json }));
};

/** As resolveInputs for the whole bundle, where assignments have values of their own. No single input's fault fails here, either. */
const resolveEach = async (
  config: BundleConfig,
  document: SiteValues,
  agent: string,
): Promise<readonly ResolvedInput[]> => {
  const resolved: ResolvedInput[] = [];
  for (const { id } of config.assignments) {
    const { schema } = config.siteInputs;
    const given = valuesOfAgent(document, agent, id);
    const values = { ...defaultsOf(schema), ...given };
    for (const field of siteFields(config, Object.keys(given)))
      if (field.assignment === id && Object.hasOwn(values, field.input))
        resolved.push({ ...field, value: values[field.input] as Json });
  }
  return resolved;
};

const COMPLETE = 'Ask the platform team to complete the values of this site';

const faultOf = (site: string, assignment: string, input: string, { kind, why }: InputFault): FleetError => {
  const subject = assignment;
  switch (kind) {
    case 'missing':
      return new FleetError('SITE_VALUES', `site ${site} has no value ${input}`, {
        subject,
        hint: COMPLETE,
      });
    case 'wrong':
      return new FleetError('SITE_VALUES', `the value ${input} of site ${site} does not fit: ${why}`, {
        subject,
        hint: COMPLETE,
      });
    case 'unusable':
      return new FleetError(
        'SITE_VALUES',
        `the value ${input} of site ${site} cannot be judged by the schema of the package: ${why}`,
        { subject, hint: 'Ask the application team to simplify the schema of this site input' },
      );
  }
};
