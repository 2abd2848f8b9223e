import { join } from 'node:path';
import { DAEMON_BINDS } from '../../../agent/apply/host/restricted-daemon.ts';
import { type FactoryHost, startFactoryHost } from '../../../harness/hosts/factory-host.ts';
import { makeBusyboxImage } from '../../../harness/kubernetes/busybox-image.ts';

/** Limits as they are, because raising one takes a capability that a host of these tests lacks. */
const SETTINGS = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
`;

export type QuadletsHostOptions = {
  /** parts.podmanHost, parts.busybox */
  readonly podmanHost: string;
  readonly busybox: string;
  /** A folder of the machine, which the host has at /media. */
  readonly media: string;
};

/** A booted host with Podman and the image localhost/web:1. */
export const startQuadletsHost = async (
  name: string,
  { podmanHost, busybox, media }: QuadletsHostOptions,
): Promise<FactoryHost> => {
  const image = await makeBusyboxImage(busybox, join(media, 'layout'), { name: 'localhost/web:1' });
  await image.writeArchive(join(media, 'web.tar'));
  const host = await startFactoryHost(name, {
    base: podmanHost,
    disks: ['/var/lib/containers'],
    binds: [...DAEMON_BINDS, { from: media, to: '/media', readOnly: true }],
  });
  await host.exec(['/bin/sh', '-c', 'cat > /etc/containers/containers.conf'], { input: SETTINGS });
  await host.sh(
    'podman load -q -i /media/web.tar && podman tag $(podman images -q | head -n 1) localhost/web:1',
  );
  return host;
};
