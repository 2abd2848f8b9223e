import type { Channel } from '#bundles/names';

/** Whom the corpus is about, and when. */
export const FLEET = 'golden';
export const SITE = 'plant-7';
export const AGENT = `${SITE}/press-2`;
export const HOST: Channel = { environment: 'prod', clusterType: 'factory-host' };
export const LINE: Channel = { environment: 'prod', clusterType: 'factory-line' };

export const BUILT = '2026-11-20T08:00:00Z';
export const ISSUED = '2026-11-21T08:00:00Z';
export const EXPIRES = '2027-11-21T08:00:00Z';
/** When the second release was made, the site's report behind it. */
export const LATER = '2026-12-01T08:00:00Z';
export const LATER_EXPIRES = '2027-12-01T08:00:00Z';
export const ROOT_EXPIRES = new Date('2036-11-21T08:00:00Z');
