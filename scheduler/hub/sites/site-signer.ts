import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { Hub } from '../hub.ts';
import type { SiteSigner } from './issue-site.ts';
import { refuseOlder } from './refuse-older.ts';

/**
 * The newest root, the key that signs site statements, and the layout that the database must not be behind.
 * @throws FleetError as KeyDirectory.key
 */
export const siteSigner = async ({ keys, layout }: Pick<Hub, 'keys' | 'layout'>): Promise<SiteSigner> => ({
  root: keys.root,
  release: await keys.key('release'),
  checkOwn: async (own, floor) => refuseOlder(await openOrStartLayout(layout), own, floor),
});
