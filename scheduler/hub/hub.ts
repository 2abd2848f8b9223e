import { existsSync } from 'node:fs';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout, referenceOf } from '#bundles/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { type Configuration, requireSetting } from '../configuration.ts';
import { readDocuments } from '../publish/artifact.ts';
import { siteReference } from '../publish/references.ts';
import { type KeyDirectory, openKeyDirectory } from '../sign/key-directory.ts';
import { writeReceipts } from './reports/acknowledge.ts';
import type { SiteSigner } from './sites/issue-site.ts';
import { publishArtifact } from './sites/publish-artifact.ts';
import { type SiteDocuments, siteDocuments } from './sites/site-documents.ts';
import { withLayoutLock } from './sites/with-layout-lock.ts';
import { openStore, type Store } from './store/open-store.ts';
import type { SiteRow } from './store/tables.ts';

/** What the hub's commands work on: whose fleet, what is known, and where statements and receipts are laid out. */
export type Hub = AsyncDisposable & {
  readonly keys: KeyDirectory;
  readonly store: Store;
  /** OCI layout directory; need not be there yet. */
  readonly layout: string;
};

/**
 * @param create makes a database where none is. Only an enrolment does: to all others a wrong path would look like a
 * fleet without sites.
 * @throws FleetError USAGE, KEY_MISSING, SITE_MISSING, WRONG_FLEET ...
 */
export const openHub = async (configuration: Configuration, { create = false } = {}): Promise<Hub> => {
  const layout = requireSetting(configuration, 'layout');
  const db = requireSetting(configuration, 'db');
  const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
  if (!create && !existsSync(db)) {
    throw new FleetError('SITE_MISSING', `there is no hub database at ${db}, so no site is known`, {
      hint: 'Check --db; "sites enroll", "tokens create" and "serve" make one for the first site',
    });
  }
  const store = await openStore(db, keys.root.fleet);
  return { keys, store, layout, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
};

/**
 * May a database be made? Not where the layout has orders of sites: the database that counts them is elsewhere, and with a
 * new one every agent would be a stranger.
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
 * Mirrors a site's newest statement into the layout, whether it changed just now or a run was cut off before.
 * @throws FleetError BUSY; ROLLBACK where the layout has a newer one, or another under this number: the database is not the one
 * that made it, and what it counts out again is what every site of the field refuses
 */
export const publishSite = (
  { layout, keys, store }: Hub,
  { name }: Pick<SiteRow, 'name'>,
  options: PublishOptions,
): Promise<void> =>
  withLayoutLock(layout, { command: 'sites', ...options }, async () => {
    await writeSite(layout, await siteDocuments(name, { db: store.db, keys }));
    await writeReceipts(store.db, layout, name);
  });

/** When, and how long another writer is waited for. */
export type PublishOptions = { readonly now: Date; readonly command?: string; readonly waitMs?: number };

const writeSite = async (layout: string, { row: site, documents }: SiteDocuments): Promise<void> => {
  const laidOut = await readDocuments(await openOrStartLayout(layout), siteReference(site.name));
  const known = laidOut.find(({ role }) => role === 'site');
  const version = known?.version ?? 0;
  if (version > site.version || (version === site.version && known?.digest !== digestOf(site.statement))) {
    throw new FleetError(
      'ROLLBACK',
      `${layout} has statement ${version} of site ${site.name}, this database gave out ${site.version} just now`,
      {
        hint: 'Give the --db that belongs to this --layout, or put back its newest copy; the layout is left as it is',
      },
    );
  }
  await publishArtifact(layout, SITE_ARTIFACT, siteReference(site.name), documents);
};
