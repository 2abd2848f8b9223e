import type { BundleConfig } from '#bundles/formats/bundle/config';
import {
  bundleManifest,
  type Descriptor,
  encodeManifest,
  type Manifest,
} from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { BUNDLE_CONFIG, LAYER_HOST } from '#bundles/media-types';
import { blobsInMemory, type MemoryBlobs } from '../../blobs-in-memory.ts';

export type SampleBundle = {
  readonly blobs: MemoryBlobs;
  readonly digest: Digest;
  readonly manifest: Manifest;
  readonly config: Descriptor;
  readonly layer: Descriptor;
};

export const descriptorOf = (
  bytes: Uint8Array | string,
  mediaType: string,
): Pick<Descriptor, 'mediaType' | 'digest' | 'size'> => ({
  mediaType,
  digest: digestOf(bytes),
  size: Buffer.byteLength(bytes),
});

export const sampleConfig = (layer: Digest, change: Partial<BundleConfig> = {}): BundleConfig => ({
  fleet: 'acme',
  environment: 'prod',
  clusterType: 'kiosk',
  kind: 'host',
  assignments: [
    { id: 'gateway', package: digestOf('package'), path: 'gateway', layer, dependsOn: [], critical: false },
  ],
  siteInputs: { schema: {}, fields: [] },
  requirements: {},
  closure: [],
  critical: [],
  ...change,
});

/** A host bundle with one layer, in memory; `change` alters its config, `reshape` its manifest, both before hashing. */
export const sampleBundle = (
  change: Partial<BundleConfig> = {},
  reshape: (manifest: Manifest) => unknown = (manifest) => manifest,
): SampleBundle => {
  const blobs = blobsInMemory();
  const content = Buffer.alloc(5000, 'layer');
  const layer = descriptorOf(content, LAYER_HOST);
  blobs.put(content);
  const configBytes = canonicalBytes(sampleConfig(layer.digest, change));
  const config = descriptorOf(configBytes, BUNDLE_CONFIG);
  blobs.put(configBytes);
  const manifest = reshape(bundleManifest('host', config, [layer])) as Manifest;
  return { blobs, digest: blobs.put(encodeManifest(manifest).bytes), manifest, config, layer };
};
