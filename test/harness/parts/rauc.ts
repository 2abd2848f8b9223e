import { packagesForHosts } from './packages-for-hosts.ts';

/** RAUC for hosts without a network: its service, and what makes its bundles. */
export const rauc = packagesForHosts({
  name: 'rauc',
  variable: 'FLEET_RAUC',
  also: ['rauc-service', 'squashfs-tools'],
});
