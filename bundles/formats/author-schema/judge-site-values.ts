import type { BundleConfig } from '../bundle/config.ts';
import type { SiteValues } from '../statements/predicates.ts';
import type { Verdict } from './judge-values.ts';
import { placedValues } from './value-places.ts';

type Schema = BundleConfig['siteInputs']['schema'];

/**
 * The values of one agent, lowest first: those composed from layers, the site's, the agent's own, and composed ones that override people's.
 * A higher one replaces the whole value.
 * @param assignment with the composed values of this assignment; undefined: only what all assignments get
 */
export const valuesOfAgent = (
  document: SiteValues,
  agent: string,
  assignment?: string,
): SiteValues['values'] => {
  const given = placedValues(document, agent, assignment);
  return { ...given.layers, ...given.site, ...given.agent, ...given.fixed };
};

/** Whether some assignment of the agent gets other values than the rest. */
export const differByAssignment = ({ composed }: SiteValues, agent: string): boolean => {
  const own = composed?.[agent];
  return own?.assignments !== undefined || own?.fixed?.assignments !== undefined;
};

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
