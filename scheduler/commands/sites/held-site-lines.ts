import { formatError } from '#bundles/errors';
import type { ComposedSites } from '../../hub/sites/layers/compose-sites.ts';

/** A line for each reason why a site keeps the values that it has. */
export const heldSiteLines = (held: ComposedSites['held']): readonly string[] =>
  held.flatMap(({ site, reasons }) =>
    reasons.map((reason) => `${site} keeps its values: ${formatError(reason)}`),
  );
