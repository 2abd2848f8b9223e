import { claimPaths } from '#bundles/formats/archive/claim-paths';
import { checkPath, LAYER_PATHS } from '#bundles/formats/archive/entry-path';
import { packLayer, packLayerAside } from '#bundles/formats/archive/pack-layer';
import type { BundleAssignment, BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import { BLOBS_CRITICAL, IMAGES_CRITICAL, SECRETS_CRITICAL } from '#bundles/formats/bundle/host-package';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import type { BundleKind } from '#bundles/names';
import { FleetError } from '#bundles/errors';
import { BUNDLE_CONFIG, LAYER_HOST, LAYER_KUBERNETES } from '#bundles/media-types';
import { type ImagePolicy, policiesOn } from '#bundles/formats/bundle/image-policy';
import type { ClusterType, Value } from '../../model/model.ts';
import { kustomization } from './assemble-kubernetes.ts';
import type { AssembledPackage } from './assembled-package.ts';
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

type Packing = {
  readonly layers: readonly PackedBlob[];
  /** Assignment id to its layer. */
  readonly layerOf: (id: string) => Digest;
  readonly uncompressed: number;
};

/**
 * Packs the packages of one environment and cluster type into one bundle. Pure: packages are sorted by id, so that the bytes do
 * not depend on the order of work or the number of workers.
 */
export const packBundle = async (
  fleet: string,
  environment: string,
  clusterType: ClusterType,
  packages: readonly AssembledPackage[],
  closure: readonly ClosureEntry[],
  policies: readonly ImagePolicy[] = [],
): Promise<PackedBundle> => {
  const sorted = packages.toSorted((a, b) => compareBytes(a.id, b.id));
  const kind = clusterType.target;
  const packing = await (kind === 'kubernetes'
    ? packTogether(sorted, clusterType.reconciler)
    : packApart(sorted));
  const config: BundleConfig = {
    fleet,
    environment,
    clusterType: clusterType.name,
    kind,
    assignments: sorted.map((it) => toAssignment(it, packing.layerOf(it.id))),
    siteInputs: siteInputsOf(sorted),
    requirements: requirementsOf(clusterType, packing, closure),
    closure: closure.toSorted((a, b) => compareBytes(a.digest, b.digest)),
    ...withSecrets(withImages(withBlobs(imagePolicyOf(policies, closure), sorted), sorted), sorted),
  };
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

/** Only policies that apply to an image of this bundle, so that other policies do not change its digest. */
const imagePolicyOf = (
  policies: readonly ImagePolicy[],
  closure: readonly ClosureEntry[],
): Pick<BundleConfig, 'imagePolicy' | 'critical'> => {
  const on = new Set(closure.flatMap(({ names = [] }) => policiesOn(policies, names)));
  const imagePolicy = policies.filter((policy) => on.has(policy));
  return imagePolicy.length === 0 ? { critical: [] } : { imagePolicy, critical: ['imagePolicy'] };
};

/** An agent without support for secrets would apply empty Secrets, and encrypted documents unchanged. */
const withSecrets = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ needsSecrets }) => needsSecrets === true)
    ? { ...config, critical: [...config.critical, SECRETS_CRITICAL] }
    : config;

/** An agent without support for them would not fetch them, and fail when it applies the package. */
const withBlobs = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ contents = [] }) => contents.length > 0)
    ? { ...config, critical: [...config.critical, BLOBS_CRITICAL] }
    : config;

/** An agent without support for them would not keep the blobs of the images. */
const withImages = <T extends Pick<BundleConfig, 'critical'>>(
  config: T,
  packages: readonly AssembledPackage[],
): T =>
  packages.some(({ imageBlobs = [] }) => imageBlobs.length > 0)
    ? { ...config, critical: [...config.critical, IMAGES_CRITICAL] }
    : config;

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

/** Kubernetes: exactly one layer with a kustomization.yaml at its root, as unmodified Flux and Argo CD require. */
const packTogether = async (packages: readonly AssembledPackage[], reconciler: string): Promise<Packing> => {
  // Flux and Argo CD are pointed to the root once, and from there to each package on its own: a broken package of one team
  // does not stop the others, and a removed package removes its objects.
  const pulls = pullsBundle(reconciler);
  const roots = packages.map((one) =>
    pulls && one.files.some(({ path }) => path === RECONCILER) ? `${one.id}/${RECONCILER}` : one.id,
  );
  const files = [{ path: 'kustomization.yaml', bytes: kustomization(roots) as Uint8Array | string }];
  for (const one of packages)
    for (const { path, bytes } of one.files) files.push({ path: `${one.id}/${path}`, bytes });
  const layer = await packLayerAside(files);
  const blob = toBlob(LAYER_KUBERNETES, layer.bytes);
  return { layers: [blob], layerOf: () => blob.descriptor.digest, uncompressed: layer.uncompressedSize };
};

/** Host: one layer for each package, so that only a changed package is transferred. */
const packApart = async (packages: readonly AssembledPackage[]): Promise<Packing> => {
  const packed: { readonly id: string; readonly blob: PackedBlob; readonly size: number }[] = [];
  for (const { id, files } of packages) {
    const layer = await packLayerAside(files.map(({ path, bytes }) => ({ path: `${id}/${path}`, bytes })));
    packed.push({ id, blob: toBlob(LAYER_HOST, layer.bytes), size: layer.uncompressedSize });
  }
  const byId = new Map(packed.map(({ id, blob }) => [id, blob.descriptor.digest]));
  return {
    layers: packed.map(({ blob }) => blob),
    layerOf: (id) => byId.get(id) as Digest,
    uncompressed: packed.reduce((sum, { size }) => sum + size, 0),
  };
};

const toAssignment = (
  { assignment: { target }, id, digest, namespace, contents, imageBlobs, bounds }: AssembledPackage,
  layer: Digest,
): BundleAssignment => ({
  // Keys in the order of canonical JSON, which then does not sort.
  ...((contents ?? imageBlobs) && {
    blobs: [...new Set([...(contents ?? []).map((one) => one.digest), ...(imageBlobs ?? [])])].toSorted(
      compareBytes,
    ),
  }),
  ...(bounds && { bounds }),
  critical: target.critical,
  dependsOn: target.dependsOn.toSorted(compareBytes),
  deploymentTarget: target.shortName,
  id,
  layer,
  ...(namespace === undefined ? {} : { namespace }),
  package: digest,
  path: id,
  workload: target.workload,
  workspace: target.workspace,
});

/** The schema of all site values, and every field that takes one. @throws FleetError OBJECT_CLASH */
const siteInputsOf = (packages: readonly AssembledPackage[]): BundleConfig['siteInputs'] => {
  const properties = new Map<string, { readonly [key: string]: Value }>();
  const fields = packages.flatMap(({ id, siteInputs }) =>
    siteInputs.map(({ schema, ...field }) => {
      const known = properties.get(field.input);
      if (known && JSON.stringify(known) !== JSON.stringify(schema)) {
        throw new FleetError(
          'OBJECT_CLASH',
          `site input ${field.input} has two different schemas in this cluster type`,
          { subject: id },
        );
      }
      properties.set(field.input, schema);
      return { ...field, assignment: id };
    }),
  );
  const schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: [...properties.keys()].toSorted(compareBytes),
  };
  return { schema: schema, fields };
};

/** Disk space in bytes: twice the size of packages and images, because the old ones stay until the new ones are healthy. */
const requirementsOf = (
  { requirements }: ClusterType,
  packing: Packing,
  closure: readonly ClosureEntry[],
): BundleConfig['requirements'] => ({
  diskBytes:
    requirements.diskBytes ?? 2 * (packing.uncompressed + closure.reduce((sum, { size }) => sum + size, 0)),
  ...(requirements.kubernetes === undefined ? {} : { kubernetes: requirements.kubernetes }),
  ...(requirements.agent === undefined ? {} : { agent: requirements.agent }),
});
