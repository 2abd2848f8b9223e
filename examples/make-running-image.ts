import { defined } from '#bundles/defined';
import type { Descriptor } from '../bundles/formats/layout/manifest.ts';
import {
  findReference,
  openLayout,
  withReference,
  writeLayoutIndex,
} from '../bundles/formats/layout/layout.ts';
import { makeBusyboxImage } from '../test/harness/kubernetes/busybox-image.ts';
import { ARCHITECTURES, createManifest, putIndex } from './make-images.ts';

export type RunningImage = {
  /** Reference with a tag, as in manifests. */
  readonly name: string;
  /** Answer of its web server. */
  readonly page: string;
  /** Command to run instead of the web server. */
  readonly command?: readonly string[];
};

/**
 * Adds an image to an OCI layout that really runs here: busybox with a web server. Images of the example company have two
 * platforms; what this machine's busybox is not made for is the text of make-images.ts, which nobody runs here.
 */
export const makeRunningImage = async (
  busybox: string,
  directory: string,
  { name, page, command }: RunningImage,
): Promise<void> => {
  await makeBusyboxImage(busybox, directory, defined({ name, page, command }));
  const layout = await openLayout(directory);
  const own = findReference(layout, name);
  if (own === undefined) throw new Error(`${name} is not in ${directory}`);
  const { mediaType, digest, size } = own;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const manifests: Descriptor[] = [{ mediaType, digest, size, platform: { os: 'linux', architecture } }];
  for (const other of ARCHITECTURES) {
    if (other !== architecture) manifests.push(await createManifest(layout, name, other));
  }
  await writeLayoutIndex(layout, withReference(layout.manifests, name, await putIndex(layout, manifests)));
};
