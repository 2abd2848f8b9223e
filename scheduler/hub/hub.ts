import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { completeLayout, openLayout, openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { type KeyDirectory, openKeyDirectory } from '../keys/key-directory.ts';
import { readDocuments } from '../load/releases/artifact.ts';
import { siteReference } from '../load/releases/references.ts';
import { type Configuration, type FactLabel, requireSetting } from '../settings/configuration.ts';
import { describeDatabase } from '../settings/database-url.ts';
import { writeReceipts } from './ingest/reports/acknowledge.ts';
import { bringHistoryUpToDate } from './ingest/reports/rebuild-history.ts';
import type { SiteSigner } from './sites/issue-site.ts';
import { publishArtifact } from './sites/publish-artifact.ts';
import { type SiteDocuments, siteDocuments } from './sites/site-documents.ts';
import { withLayoutLock } from './sites/with-layout-lock.ts';
import { type By, openStore, type Store, storeExists } from './store/open-store.ts';
import type { SiteRow } from './store/tables.ts';

/** Resources of the hub's commands: the fleet's keys, the database, and the layout for statements and receipts. */
export type Hub = AsyncDisposable & {
  readonly keys: KeyDirectory;
  readonly store: Store;
  /** OCI layout directory; may not exist yet. */
  readonly layout: string;
  /** Rules that make labels of the facts of a machine at its enrolment. */
  readonly factLabels?: readonly FactLabel[] | undefined;
};

/**
 * Opens the keys and the database of a hub.
 * @param by who changes something; undefined: nobody does, or the program by a rule
 * @param create creates a missing database. Only for commands that may enrol the first site: for others a wrong path would
 *   look like a fleet without sites.
 * @throws FleetError USAGE for a missing setting; KEY_MISSING; SITE_MISSING if there is no database; WRONG_FLEET,
 *   STORE_CORRUPT, PERMISSION; MEDIUM_MISSING if the database has sites but the layout does not exist
 */
export const openHub = async (
  configuration: Configuration,
  { create = false, by }: { readonly create?: boolean; readonly by?: By } = {},
): Promise<Hub> => {
  const layout = requireSetting(configuration, 'layout');
  const db = requireSetting(configuration, 'db');
  const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
  if (!create && !(await storeExists(db))) {
    throw new FleetError(
      'SITE_MISSING',
      `there is no hub database at ${describeDatabase(db)}, so no site is known`,
      {
        hint: 'Check --db, or restore a backup. "sites enroll", "tokens create" and "serve" make one where the layout has no site yet',
      },
    );
  }
  const store = await openStore(db, keys.root.fleet, { by });
  try {
    await completeLayout(layout);
    // The first enrolment creates the layout. If there are sites and no layout, the path is wrong.
    if (!create && (await store.db.selectFrom('site').select('name').executeTakeFirst()))
      await openLayout(layout);
    await bringHistoryUpToDate(store, (line) => void process.stderr.write(`${line}\n`));
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
  const { factLabels } = configuration;
  return { keys, store, layout, factLabels, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
};

/**
 * Whether a new database may be created. Not if the layout has site statements: their database is elsewhere, and a new one
 * would know none of the agents.
 */
export const hasNoSites = async (configuration: Configuration): Promise<boolean> => {
  const { manifests } = await openOrStartLayout(requireSetting(configuration, 'layout'));
  return !manifests.some((descriptor) => referenceOf(descriptor)?.startsWith('sites/'));
};

export const siteSigner = async ({ keys }: Hub): Promise<SiteSigner> => ({
  root: keys.root,
  release: await keys.key('release'),
});

/**
 * Copies a site's newest statement and receipts from the database to the layout. Repeating it after an interruption is safe.
 * @throws FleetError SITE_MISSING; BUSY while another process writes the layout; ROLLBACK if the layout has a newer statement,
 *   or another one of the same version: the database is an old copy, and sites would reject the versions it issues
 */
export const publishSite = (
  { layout, keys, store }: Hub,
  { name }: Pick<SiteRow, 'name'>,
  options: PublishOptions,
): Promise<'written' | 'unchanged'> =>
  withLayoutLock(layout, { command: 'sites', ...options }, async () => {
    const outcome = await writeSite(layout, await siteDocuments(name, { db: store.db, keys }));
    await writeReceipts(store.db, layout, name);
    return outcome;
  });

/** `command` names the holder of the lock for other processes; `waitMs` limits the wait for another writer. */
export type PublishOptions = { readonly now: Date; readonly command?: string; readonly waitMs?: number };

const writeSite = async (
  layout: string,
  { row: site, documents }: SiteDocuments,
): Promise<'written' | 'unchanged'> => {
  const laidOut = await readDocuments(await openOrStartLayout(layout), siteReference(site.name));
  const known = laidOut.find(({ role }) => role === 'site');
  const version = known?.version ?? 0;
  if (version > site.version || (version === site.version && known?.digest !== digestOf(site.statement))) {
    throw new FleetError(
      'ROLLBACK',
      `${layout} has statement ${version} of site ${site.name}, this database issued ${site.version} just now`,
      {
        hint: 'Give the --db that belongs to this --layout, or restore its newest copy; the layout was not changed',
      },
    );
  }
  return await publishArtifact(layout, SITE_ARTIFACT, siteReference(site.name), documents);
};
