import { digestOf } from '#bundles/digest';
import { BY_RULE, type By } from '../store/open-store.ts';
import type { SiteRow, Tx } from '../store/tables.ts';

/** Records the values document of a site's next statement with who decided it, if it differs from the one before. */
export const recordValues = async (
  tx: Tx,
  before: Pick<SiteRow, 'site_values'> | undefined,
  row: SiteRow,
  { person, reason }: By = BY_RULE,
): Promise<void> => {
  if (before?.site_values === row.site_values) return;
  const { name: site, version, site_values: document, issued_at: at } = row;
  await tx
    .insertInto('site_values_version')
    .values({ site, version, digest: digestOf(document), document, at, person, reason })
    .execute();
};
