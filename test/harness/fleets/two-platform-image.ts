import { findReference, openLayout, withReference, writeLayoutIndex } from '#bundles/formats/layout/layout';
import {
  type Blobs,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
} from '../../agent/images/image-fixture.ts';
import { makeBusyboxImage } from '../kubernetes/busybox-image.ts';

const [OWN, OTHER] = process.arch === 'arm64' ? ['arm64', 'amd64'] : ['amd64', 'arm64'];

/**
 * Adds to the layout in `directory` what builders publish under a name: an index of two platforms, one of which runs here
 * (busybox, serving `page`), with an attestation beside it.
 */
export const makeTwoPlatformImage = async (
  busybox: string,
  directory: string,
  { name, page }: { readonly name: string; readonly page: string },
): Promise<void> => {
  const image = await makeBusyboxImage(busybox, directory, { name, page });
  const layout = await openLayout(directory);
  const blobs: Blobs = new Map();
  const layers = [await putLayer(blobs, { app: `other ${name}` })];
  const other = putImage(blobs, { layers, architecture: OTHER });
  const { size = 0 } = findReference(layout, name) ?? {};
  const platform = { os: 'linux', architecture: OWN };
  const own = { mediaType: other.mediaType, digest: image.digest, size, platform };
  const index = putIndex(blobs, [own, putAttestation(blobs, own), other]);
  for (const [digest, bytes] of blobs) await layout.blobs.write(digest, bytes.byteLength, bytes);
  await writeLayoutIndex(layout, withReference(layout.manifests, name, index));
};
