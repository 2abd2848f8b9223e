import { join } from 'node:path';
import type { Cluster } from '../../harness/kubernetes/cluster.ts';
import { writePinnedArchive } from '../../harness/kubernetes/pinned-archive.ts';
import { makeTwoPlatformImage } from '../../harness/fleets/two-platform-image.ts';
import { type Office } from '../office.ts';
import { succeed } from '../../harness/run/run-command.ts';

export const LINE_IMAGES = [
  'registry.halden.example/line-control:5.0.4',
  'registry.halden.example/telemetry:1.8.1',
] as const;

/** What the web server of such an image answers. */
export const pageOf = (image: string, edition: string): string =>
  `This is ${image}, the ${edition} edition.\n`;

/**
 * Puts images that really run in the place of the example's, which hold a text: the cluster's nodes get them by their
 * digests, and then releases of this office name those.
 * @param busybox parts.busybox @param edition another one makes other digests under the same tags
 */
export const bringRunningImages = async (
  office: Office,
  cluster: Pick<Cluster, 'bringImages'>,
  { busybox, edition }: { readonly busybox: string; readonly edition: string },
): Promise<void> => {
  const layout = join(office.folder, 'images');
  for (const name of LINE_IMAGES)
    await makeTwoPlatformImage(busybox, layout, { name, page: pageOf(name, edition) });
  const archive = join(office.folder, 'images.tar');
  await writePinnedArchive(layout, LINE_IMAGES, archive);
  await cluster.bringImages(archive);
  succeed(await office.scheduler('images', 'lock', '--images', 'images', '--update'));
};
