import { debianRoot, HOST_PACKAGES } from './debian-root.ts';

/** What lies under a host that is a Kubernetes node (startNode): containers, and a network for pods. */
export const nodeBase = debianRoot({
  title: 'Kubernetes node',
  variable: 'FLEET_NODE_BASE',
  name: 'node-base',
  packages: [
    ...HOST_PACKAGES,
    'containerd',
    'runc',
    'containernetworking-plugins',
    'iptables',
    'openssl',
    'busybox-static',
  ],
});
