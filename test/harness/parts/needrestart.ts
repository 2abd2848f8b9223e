import { packagesForHosts } from './packages-for-hosts.ts';

/** needrestart for hosts without a network, and the C library in the version that they have, whose installation replaces its files as an upgrade does. */
export const needrestart = packagesForHosts({
  name: 'needrestart',
  variable: 'FLEET_NEEDRESTART',
  also: ['libc6'],
});
