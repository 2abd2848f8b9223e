import type { BundleConfig } from '../bundle/config.ts';
import type { SiteValues } from '../statements/predicates.ts';
import type { Verdict } from './judge-values.ts';

type Schema = BundleConfig['siteInputs']['schema'];

/** Returns the values of one agent: the site's values, overridden by the agent's own. */
export const valuesOfAgent = ({ values, agents }: SiteValues, agent: string): SiteValues['values'] => ({
  ...values,
  ...agents[agent],
});

/** Validates the values of an agent against the schema of a bundle, as judgeValues does. */
export const judgeSiteValues = async (
  schema: Schema,
  values: SiteValues['values'],
  only?: ReadonlySet<string>,
): Promise<Verdict> => {
  if (only?.size === 0 || asksNothing(schema)) return { faults: new Map() };
  // With Ajv it takes a tenth of the memory of an idle agent, and most fleets have no site values.
  const { judgeValues } = await import('./judge-values.ts');
  return judgeValues(schema, values, only);
};

/** The schema that a scheduler writes for a bundle without site inputs. Site values are always an object. */
const asksNothing = (schema: Schema): boolean =>
  Object.entries(schema).every(([keyword, said]) => {
    if (keyword === 'type') return said === 'object';
    return ['properties', 'required'].includes(keyword) && Object.keys(said as object).length === 0;
  });
