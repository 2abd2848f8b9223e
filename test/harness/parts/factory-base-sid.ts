import { debianRoot } from './debian-root.ts';
import { FACTORY_PACKAGES } from './factory-base.ts';
import type { Part } from './part.ts';

/** What lies under factory hosts of Debian sid (describeOnDebiansAndSid), the next release: its systemd knows control groups of version 2 alone. */
export const factoryBaseSid: Part = {
  ...debianRoot({
    title: 'factory host of Debian sid',
    variable: 'FLEET_HOST_BASE_SID',
    name: 'factory-base-sid',
    suite: 'sid',
    // Three that apt of the releases installs unasked.
    packages: [...FACTORY_PACKAGES, 'mount', 'passwd', 'procps'],
    // A mirror may lag behind by more than the ten days that its list is valid.
    aptOptions: ['Acquire::Check-Valid-Until "false"'],
  }),
  onlyInLong: true,
};
