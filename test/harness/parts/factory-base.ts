import { debianRoot, HOST_PACKAGES } from './debian-root.ts';

/** What lies under every factory host: python3-apt and ansible-core are for the Ansible way of configuring it. */
export const factoryBase = debianRoot({
  title: 'factory host',
  variable: 'FLEET_HOST_BASE',
  name: 'factory-base',
  packages: [...HOST_PACKAGES, 'python3', 'python3-apt', 'ansible-core'],
});
