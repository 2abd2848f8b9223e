import { claimPaths } from '#bundles/formats/archive/claim-paths';
import { checkPath, LAYER_PATHS } from '#bundles/formats/archive/entry-path';
import { packLayer, packLayerOnThread } from '#bundles/formats/archive/pack-layer';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import type { BundleKind } from '#bundles/names';
import { BUNDLE_CONFIG, LAYER_HOST, LAYER_KUBERNETES } from '#bundles/media-types';
import { kustomization } from './assemble-kubernetes.ts';
import type { AssembledPackage } from './assembled-package.ts';
import { type BundleAbout, bundleConfig, type Layers } from './bundle-config.ts';
import { pullsBundle } from '../../model/reconciler-traits.ts';

export type PackedBlob = { readonly descriptor: Descriptor; readonly bytes: Buffer };

/** A bundle in memory: manifest, config and layers, each with its bytes. */
export type PackedBundle = {
  readonly kind: BundleKind;
  readonly digest: Digest;
  readonly config: BundleConfig;
  readonly manifest: PackedBlob;
  readonly blobs: readonly PackedBlob[];
};

type Packing = Layers & { readonly layers: readonly PackedBlob[] };

/**
 * Packs the packages of one environment and cluster type into one bundle. Pure: packages are sorted by id, so that the bytes do
 * not depend on the order of work or the number of workers.
 */
export const packBundle = async (
  about: BundleAbout,
  packages: readonly AssembledPackage[],
): Promise<PackedBundle> => {
  const { clusterType } = about;
  const sorted = packages.toSorted((a, b) => compareBytes(a.id, b.id));
  const kind = clusterType.target;
  const packing = await (kind === 'kubernetes'
    ? packOneLayer(sorted, clusterType.reconciler)
    : packLayers(sorted));
  const config = bundleConfig(about, sorted, packing);
  const configBlob = toBlob(BUNDLE_CONFIG, canonicalBytes(config, 'doubles'));
  const manifest = encodeManifest(
    bundleManifest(
      kind,
      configBlob.descriptor,
      packing.layers.map(({ descriptor }) => descriptor),
    ),
  );
  return {
    kind,
    digest: manifest.descriptor.digest,
    config,
    manifest: { descriptor: manifest.descriptor, bytes: manifest.bytes },
    blobs: [configBlob, ...packing.layers],
  };
};

const toBlob = (mediaType: string, bytes: Buffer): PackedBlob => ({
  descriptor: { mediaType, digest: digestOf(bytes), size: bytes.byteLength },
  bytes,
});

/** Paths of up to this many bytes fit into the name field of ustar. */
const USTAR_NAME = 100;

/**
 * Checks that a layer can hold every path of a package. Called for each package, so that only a bad one is held.
 * @throws FleetError BAD_NAME, DUPLICATE
 */
export const checkPackable = (made: AssembledPackage): void => {
  const claim = claimPaths();
  for (const { path } of made.files) {
    const full = checkPath(`${made.id}/${path}`, LAYER_PATHS);
    claim(full, false);
    // A longer path must be splittable for ustar, which packing checks.
    if (Buffer.byteLength(full) > USTAR_NAME) packLayer([{ path: full, bytes: new Uint8Array() }]);
  }
};

const RECONCILER = 'reconciler.yaml';

/**
 * Kubernetes: exactly one layer with a kustomization.yaml at its root, as unmodified Flux and Argo CD require. None without packages, unless one
 * of these pulls it.
 */
const packOneLayer = async (packages: readonly AssembledPackage[], reconciler: string): Promise<Packing> => {
  const pulls = pullsBundle(reconciler);
  // Agents refuse a layer that no assignment names.
  if (packages.length === 0 && !pulls) return { layers: [], layerOf: () => digestOf(''), uncompressed: 0 };
  // Flux and Argo CD are pointed to the root once, and from there to each package on its own: a broken package of one team
  // does not stop the others, and a removed package removes its objects.
  const roots = packages.map((one) =>
    pulls && one.files.some(({ path }) => path === RECONCILER) ? `${one.id}/${RECONCILER}` : one.id,
  );
  const files = [{ path: 'kustomization.yaml', bytes: kustomization(roots) as Uint8Array | string }];
  for (const one of packages)
    for (const { path, bytes } of one.files) files.push({ path: `${one.id}/${path}`, bytes });
  const layer = await packLayerOnThread(files);
  const blob = toBlob(LAYER_KUBERNETES, layer.bytes);
  return { layers: [blob], layerOf: () => blob.descriptor.digest, uncompressed: layer.uncompressedSize };
};

/** Host: one layer for each package, so that only a changed package is transferred. */
const packLayers = async (packages: readonly AssembledPackage[]): Promise<Packing> => {
  const packed: { readonly id: string; readonly blob: PackedBlob; readonly size: number }[] = [];
  for (const { id, files } of packages) {
    const layer = await packLayerOnThread(files.map(({ path, bytes }) => ({ path: `${id}/${path}`, bytes })));
    packed.push({ id, blob: toBlob(LAYER_HOST, layer.bytes), size: layer.uncompressedSize });
  }
  const byId = new Map(packed.map(({ id, blob }) => [id, blob.descriptor.digest]));
  return {
    layers: packed.map(({ blob }) => blob),
    layerOf: (id) => byId.get(id) as Digest,
    uncompressed: packed.reduce((sum, { size }) => sum + size, 0),
  };
};
