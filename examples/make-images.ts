/**
 * Makes the container images of the example company as one OCI layout, so that trying Fleet Ferry needs no registry:
 * `node examples/make-images.ts <directory>`. Always the same bytes, so that images.lock.yaml can name their digests.
 */
import { writeTar } from '../bundles/formats/archive/write-tar.ts';
import type { Descriptor } from '../bundles/formats/layout/manifest.ts';
import { encodeManifest } from '../bundles/formats/layout/manifest.ts';
import { canonicalBytes } from '../bundles/json/canonical.ts';
import { digestOf } from '../bundles/digest.ts';
import type { Layout } from '../bundles/formats/layout/layout.ts';
import { openOrStartLayout, withReference, writeLayoutIndex } from '../bundles/formats/layout/layout.ts';
import { OCI_INDEX, OCI_MANIFEST } from '../bundles/media-types.ts';

export const EXAMPLE_IMAGES = [
  'registry.halden.example/order-api:2.3.0',
  'registry.halden.example/telemetry:1.8.1',
  'registry.halden.example/line-control:5.0.4',
] as const;

export const ARCHITECTURES = ['amd64', 'arm64'] as const;

const putBlob = async (layout: Layout, mediaType: string, bytes: Buffer): Promise<Descriptor> => {
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.byteLength };
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  return descriptor;
};

/** One layer, not compressed: the bytes then depend on nothing but this file. */
export const createManifest = async (
  layout: Layout,
  image: string,
  architecture: string,
): Promise<Descriptor> => {
  const text = Buffer.from(`${image} for ${architecture}\n`);
  const tar = Buffer.concat(
    await Array.fromAsync(writeTar([{ path: 'app/about', size: text.byteLength, content: text }])),
  );
  const layer = await putBlob(layout, 'application/vnd.oci.image.layer.v1.tar', tar);
  const config = {
    architecture,
    os: 'linux',
    config: { Cmd: ['/app/about'] },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  };
  const manifest = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: await putBlob(layout, 'application/vnd.oci.image.config.v1+json', canonicalBytes(config)),
    layers: [layer],
  });
  return {
    ...(await putBlob(layout, OCI_MANIFEST, manifest.bytes)),
    platform: { os: 'linux', architecture },
  };
};

/** An image of several platforms. */
export const putIndex = (layout: Layout, manifests: readonly Descriptor[]): Promise<Descriptor> =>
  putBlob(layout, OCI_INDEX, canonicalBytes({ schemaVersion: 2, mediaType: OCI_INDEX, manifests }));

/** Writes the layout; gives each image's name with its digest. */
export const makeImages = async (directory: string): Promise<ReadonlyMap<string, string>> => {
  let layout = await openOrStartLayout(directory);
  const named = new Map<string, string>();
  for (const image of EXAMPLE_IMAGES) {
    const manifests: Descriptor[] = [];
    for (const architecture of ARCHITECTURES)
      manifests.push(await createManifest(layout, image, architecture));
    const descriptor = await putIndex(layout, manifests);
    layout = await writeLayoutIndex(layout, withReference(layout.manifests, image, descriptor));
    named.set(image, `${image.slice(0, image.lastIndexOf(':'))}@${descriptor.digest}`);
  }
  return named;
};

if (import.meta.main) {
  const [directory] = process.argv.slice(2);
  if (!directory) throw new Error('usage: node examples/make-images.ts <directory>');
  for (const [image, pinned] of await makeImages(directory)) process.stdout.write(`${image}: ${pinned}\n`);
}
