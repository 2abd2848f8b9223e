import { debianRoot, HOST_PACKAGES } from './debian-root.ts';

/** What every factory host has: python3-apt and ansible-core are for the Ansible way of configuring it. */
export const FACTORY_PACKAGES: readonly string[] = [
  ...HOST_PACKAGES,
  'python3',
  'python3-apt',
  'ansible-core',
];

/** What lies under every factory host: Debian 12. */
export const factoryBase = debianRoot({
  title: 'factory host',
  variable: 'FLEET_HOST_BASE',
  name: 'factory-base',
  packages: FACTORY_PACKAGES,
});
