import type { Hub } from '../hub.ts';
import type { SiteSigner } from './issue-site.ts';

/** The newest root and the key that signs site statements. @throws FleetError as KeyDirectory.key */
export const siteSigner = async ({ keys }: Pick<Hub, 'keys'>): Promise<SiteSigner> => ({
  root: keys.root,
  release: await keys.key('release'),
});
