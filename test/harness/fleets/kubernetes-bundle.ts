import { packLayer } from '#bundles/formats/archive/pack-layer';
import {
  type BundleConfig,
  type ClosureEntry,
  OBJECT_RULES_CRITICAL,
  type ObjectRule,
} from '#bundles/formats/bundle/config';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { canonicalBytes } from '#bundles/json/canonical';
import { defined } from '#bundles/defined';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { BUNDLE_CONFIG, LAYER_KUBERNETES } from '#bundles/media-types';
import type { Channel } from '#bundles/names';
import { CHANNEL, type TestBundle, type TestFleet } from './signed-medium.ts';

export type KubernetesBundleOptions = {
  readonly channel?: Channel;
  readonly closure?: readonly ClosureEntry[];
  /** What the closure's images are made of. */
  readonly images?: ReadonlyMap<Digest, Buffer>;
  /** Rules of the platform that every package follows. */
  readonly objectRules?: readonly ObjectRule[];
};

/** A Kubernetes bundle for writeTestMedium, of manifests by package: one layer, a folder a package. */
export const packKubernetesBundle = (
  fleet: TestFleet,
  packages: Readonly<Record<string, string>>,
  { channel = CHANNEL, closure = [], images = new Map(), objectRules }: KubernetesBundleOptions = {},
): TestBundle => {
  const blobs = new Map<Digest, Buffer>(images);
  const add = (mediaType: string, bytes: Buffer): Descriptor => {
    const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.byteLength };
    blobs.set(descriptor.digest, bytes);
    return descriptor;
  };
  const sorted = Object.entries(packages).toSorted(([a], [b]) => compareBytes(a, b));
  const packed = sorted.map(([id, manifests]) => ({
    id,
    files: [
      { path: 'kustomization.yaml', bytes: Buffer.from('kind: Kustomization\n') },
      { path: 'manifests.yaml', bytes: Buffer.from(manifests) },
    ],
  }));
  const layer = add(
    LAYER_KUBERNETES,
    packLayer(
      packed.flatMap(({ id, files }) => files.map(({ path, bytes }) => ({ path: `${id}/${path}`, bytes }))),
    ).bytes,
  );
  const config: BundleConfig = {
    fleet: fleet.name,
    ...channel,
    kind: 'kubernetes',
    assignments: packed.map(({ id, files }) => ({
      id,
      package: packageDigest(files),
      path: id,
      layer: layer.digest,
      dependsOn: [],
      critical: false,
      ...defined({ rules: objectRules && { objects: [...objectRules.keys()] } }),
    })),
    ...defined({ objectRules }),
    siteInputs: { schema: { type: 'object' }, fields: [] },
    requirements: {},
    closure,
    critical: objectRules ? [OBJECT_RULES_CRITICAL] : [],
  };
  const manifest = encodeManifest(
    bundleManifest('kubernetes', add(BUNDLE_CONFIG, canonicalBytes(config)), [layer]),
  );
  blobs.set(manifest.descriptor.digest, manifest.bytes);
  return {
    channel,
    digest: manifest.descriptor.digest,
    config,
    manifest: manifest.descriptor,
    layers: new Map(packed.map(({ id }) => [id, layer])),
    blobs,
  };
};
