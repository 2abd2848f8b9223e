import { debianRoot } from './debian-root.ts';
import { FACTORY_PACKAGES } from './factory-base.ts';

/** What lies under factory hosts of Debian 13 (describeOnDebians). */
export const factoryBase13 = debianRoot({
  title: 'factory host of Debian 13',
  variable: 'FLEET_HOST_BASE_13',
  name: 'factory-base-13',
  suite: 'trixie',
  packages: FACTORY_PACKAGES,
});
