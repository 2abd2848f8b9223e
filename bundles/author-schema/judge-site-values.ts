import type { BundleConfig } from '../bundle/config.ts';
import type { SiteValues } from '../statements/predicates.ts';
import type { Verdict } from './judge-values.ts';

type Schema = BundleConfig['siteInputs']['schema'];

/** What holds for one agent of a site: the site's values, the agent's own over them. */
export const valuesOfAgent = ({ values, agents }: SiteValues, agent: string): SiteValues['values'] => ({
  ...values,
  ...agents[agent],
});

/** An agent's values, held against the schema of a bundle. */
export const judgeSiteValues = async (schema: Schema, values: SiteValues['values']): Promise<Verdict> => {
  if (asksNothing(schema)) return { unusable: new Map() };
  // With what it needs it is a tenth of an idle agent, and most fleets have no site values.
  const { judgeValues } = await import('./judge-values.ts');
  return judgeValues(schema, values);
};

/** As a scheduler writes it for a bundle without site inputs. Site values are an object, always. */
const asksNothing = (schema: Schema): boolean =>
  Object.entries(schema).every(([keyword, said]) => {
    if (keyword === 'type') return said === 'object';
    return ['properties', 'required'].includes(keyword) && Object.keys(said as object).length === 0;
  });
