import type { Digest } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { type Channel, formatChannel } from '#bundles/names';

/** A cluster that follows a folder of its own on a Git branch, as the hub knows it. */
export type TreeCluster = {
  readonly channel: Channel;
  readonly site: string;
  readonly agent: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of its site. */
  readonly values: SiteValues;
};

/** Folder of a branch with a folder for each site and cluster. */
export const CLUSTERS = 'clusters';

/** File of a cluster's folder that names the bundle with the same content. It has no extension that reconcilers read. */
export const RELEASE_FILE = 'RELEASE';

/** File of a cluster's folder that says which assignments the values of the site hold back; absent: none. */
export const HELD_FILE = 'HELD';

export const clusterFolder = ({ site, agent }: Pick<TreeCluster, 'site' | 'agent'>): string =>
  `${CLUSTERS}/${site}/${agent}`;

export const releaseText = (channel: Channel, bundle: Digest): Buffer =>
  Buffer.from(`channel ${formatChannel(channel)}\nbundle ${bundle}\n`);
