import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { LOST_STATE, type State } from './state.ts';

export const saveSiteValues = ({ db }: State, digest: Digest, values: SiteValues): void => {
  db.prepare('INSERT OR IGNORE INTO site_values VALUES (?, ?)').run(digest, JSON.stringify(values));
};

/** @throws FleetError STORE_CORRUPT if they are missing: references and values are stored in one transaction */
export const readSiteValues = ({ db }: State, digest: Digest): SiteValues => {
  const row = db.prepare('SELECT document FROM site_values WHERE digest = ?').get(digest) as
    | { document: string }
    | undefined;
  if (row) return parseJson(row.document) as SiteValues;
  throw new FleetError('STORE_CORRUPT', `the site values ${digest} are not in the store`, {
    subject: digest,
    hint: LOST_STATE,
  });
};
