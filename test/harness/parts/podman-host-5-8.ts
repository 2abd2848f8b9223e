import { debianRoot } from './debian-root.ts';
import type { Part } from './part.ts';
import { PODMAN_PACKAGES } from './podman-host.ts';

/** Beside parts.podmanHost, for describeOnVersions: the newest Podman, on Debian 13 with the C library that it needs, as hosts of sid run no containers here. */
export const podmanHost58: Part = {
  ...debianRoot({
    title: 'factory host with Podman 5.8',
    variable: 'FLEET_PODMAN_HOST_BASE_5_8',
    name: 'podman-host-5.8',
    suite: 'trixie',
    packages: PODMAN_PACKAGES,
    newer: ['libc6', 'podman', 'libsubid6', 'libgpgme45'],
  }),
  onlyInLong: true,
};
