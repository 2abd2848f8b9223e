import { parseStrictJson } from '../../json/strict-json.ts';
import { parseDocument } from '../../json/validate.ts';
import type { SiteValues } from './predicates.ts';

const MAX_BYTES = 1 << 20;

/** The site-values document of a site. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA */
export const parseSiteValues = (bytes: Uint8Array, site: string): SiteValues => {
  const what = `the values of site ${site}`;
  return parseDocument('site-values', parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what), what);
};
