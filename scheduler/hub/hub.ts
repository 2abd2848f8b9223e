import { existsSync } from 'node:fs';
import { FleetError } from '#bundles/errors';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { type Configuration, requireSetting } from '../configuration.ts';
import { siteReference } from '../publish/references.ts';
import { type KeyDirectory, openKeyDirectory } from '../sign/key-directory.ts';
import type { SiteSigner } from './sites/issue-site.ts';
import { publishArtifact } from './sites/publish-artifact.ts';
import { siteDocuments } from './sites/site-documents.ts';
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
      hint: 'Check --db; "fleet-scheduler sites enroll" makes one with the first site',
    });
  }
  const store = await openStore(db, keys.root.fleet);
  return { keys, store, layout, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
};

export const siteSigner = async ({ keys }: Hub): Promise<SiteSigner> => ({
  root: keys.root,
  release: await keys.key('release'),
});

/** Mirrors a site's newest statement into the layout, whether it changed just now or a run was cut off before. */
export const publishSite = async ({ layout, keys }: Hub, site: SiteRow): Promise<void> => {
  await publishArtifact(layout, SITE_ARTIFACT, siteReference(site.name), siteDocuments(site, keys));
};
