import { debianRoot, HOST_PACKAGES } from './debian-root.ts';

export const PODMAN_PACKAGES: readonly string[] = [...HOST_PACKAGES, 'podman', 'runc'];

/** What lies under factory hosts whose Podman is new enough for quadlets: that of Debian 12 is not. */
export const podmanHost = debianRoot({
  title: 'factory host with Podman',
  variable: 'FLEET_PODMAN_HOST_BASE',
  name: 'podman-host',
  suite: 'trixie',
  packages: PODMAN_PACKAGES,
});
