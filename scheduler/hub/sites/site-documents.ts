import { FleetError } from '#bundles/errors';
import { SEALED_SECRETS, SIGSTORE_BUNDLE, SITE_VALUES_JSON } from '#bundles/media-types';
import type { NewDocument } from '../../load/releases/artifact.ts';
import { rootDocuments } from '../../release/write/write-release.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import type { Database, SiteRow } from '../store/tables.ts';
import { readSecretSetsOf } from './secret-sets.ts';

/** The parts of a hub that site documents are made from. */
export type SiteSource = { readonly db: Database; readonly keys: KeyDirectory };

/** The site's record, and the documents made from it. */
export type SiteDocuments = { readonly row: SiteRow; readonly documents: readonly NewDocument[] };

/**
 * The documents for a site: its newest statement, its values, its sealed secrets, and all roots to verify them. Read in one
 * transaction, so that the statement and the sets it names match.
 * @throws FleetError SITE_MISSING
 */
export const siteDocuments = async (site: string, source: SiteSource): Promise<SiteDocuments> => {
  const [documents] = await siteDocumentsOf([site], source);
  return documents as SiteDocuments;
};

/** The same for several sites, in their order, in one transaction. @param sites at most PART @throws FleetError SITE_MISSING */
export const siteDocumentsOf = (
  sites: readonly string[],
  { db, keys }: SiteSource,
): Promise<readonly SiteDocuments[]> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const rows = await tx.selectFrom('site').selectAll().where('name', 'in', sites).execute();
      const byName = new Map(rows.map((row) => [row.name, row]));
      const sets = await readSecretSetsOf(tx, sites);
      const roots = rootDocuments(keys);
      return sites.map((site) => {
        const row = byName.get(site);
        if (!row)
          throw new FleetError('SITE_MISSING', `no site ${site} is known here`, {
            hint: 'See them with: fleet-scheduler sites list',
          });
        const sealed = (sets.get(site) ?? []).map((set) => set.sealed);
        return { row, documents: [...documentsOf(row, sealed), ...roots] };
      });
    });

const documentsOf = (row: SiteRow, sealed: readonly Buffer[]): readonly NewDocument[] => [
  {
    role: 'site',
    mediaType: SIGSTORE_BUNDLE,
    site: row.name,
    version: row.version,
    bytes: Buffer.from(row.statement),
  },
  {
    role: 'site-values',
    mediaType: SITE_VALUES_JSON,
    site: row.name,
    bytes: Buffer.from(row.site_values),
  },
  ...sealed.map((bytes) => ({ role: 'secrets', mediaType: SEALED_SECRETS, site: row.name, bytes })),
];
