import { parseStrictJson } from '../../json/strict-json.ts';
import { parseAs } from '../../json/parse-as.ts';
import { SITE_VALUES } from '../../json/schema/validators.js';
import type { SiteValues } from './predicates.ts';

const MAX_BYTES = 1 << 20;

/** The site-values document of a site. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA */
export const parseSiteValues = (bytes: Uint8Array, site: string): SiteValues => {
  const what = `the values of site ${site}`;
  return parseAs(SITE_VALUES, parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what), what);
};
