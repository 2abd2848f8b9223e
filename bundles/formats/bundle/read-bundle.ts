import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { readManifest } from '../layout/read-manifest.ts';
import { readBlob } from '../layout/verified.ts';
import { LAYER_HOST, LAYER_KUBERNETES } from '../../media-types.ts';
import { type BundleConfig, parseBundleConfig } from './config.ts';
import type { BundleKind } from '../../names.ts';
import { bundleKindOf, type Descriptor, type Manifest, parseImageManifest } from '../layout/manifest.ts';

/** Manifest and config of a bundle, verified by digest. Its layers are not read. */
export type Bundle = {
  readonly digest: Digest;
  readonly size: number;
  readonly kind: BundleKind;
  readonly manifest: Manifest;
  readonly config: BundleConfig;
};

const LAYER_TYPES: Record<BundleKind, string> = { kubernetes: LAYER_KUBERNETES, host: LAYER_HOST };

/**
 * Reads manifest and config of a bundle and checks that the layers are exactly those that the assignments name.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, LAYOUT_INVALID
 */
export const readBundle = async (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Bundle> => {
  const what = `bundle ${shortDigest(digest)}`;
  const bytes = await readManifest(source, digest, signal);
  const manifest = parseImageManifest(bytes, what);
  const kind = bundleKindOf(manifest);
  if (!kind)
    throw new FleetError(
      'LAYOUT_INVALID',
      `${what} is not a bundle but ${manifest.artifactType ?? 'an image'}`,
    );
  const config = parseBundleConfig(
    await readBlob(source, manifest.config.digest, manifest.config.size, signal),
  );
  if (config.kind !== kind)
    throw new FleetError('LAYOUT_INVALID', `${what} is of kind ${kind}, its config says ${config.kind}`);
  checkLayers(manifest, config, LAYER_TYPES[kind], what);
  checkBlobs(config, what);
  checkObjectRules(config, what);
  return { digest, size: bytes.byteLength, kind, manifest, config };
};

const checkLayers = (manifest: Manifest, config: BundleConfig, mediaType: string, what: string): void => {
  const layers = new Set<Digest>(manifest.layers.map((layer) => layer.digest));
  const named = new Set<Digest>(config.assignments.map((assignment) => assignment.layer));
  // Flux and Argo CD need a layer also where the last package was removed: it has a kustomization.yaml and nothing else.
  const isEmpty =
    config.kind === 'kubernetes' && config.assignments.length === 0 && manifest.layers.length === 1;
  const foreign = manifest.layers.find(
    (layer) => layer.mediaType !== mediaType || !(isEmpty || named.has(layer.digest)),
  );
  if (foreign)
    throw new FleetError(
      'LAYOUT_INVALID',
      `${what} has a layer ${shortDigest(foreign.digest)} that no assignment names`,
    );
  const absent = config.assignments.find((assignment) => !layers.has(assignment.layer));
  if (absent) throw new FleetError('LAYOUT_INVALID', `${what} has no layer for assignment ${absent.id}`);
};

const checkObjectRules = ({ assignments, objectRules = [] }: BundleConfig, what: string): void => {
  const wrong = assignments.find(({ rules }) => rules?.objects?.some((index) => index >= objectRules.length));
  if (wrong)
    throw new FleetError('LAYOUT_INVALID', `${what} lacks an object rule that assignment ${wrong.id} names`);
};

/** Every blob of an assignment must be in the closure: a store keeps and delivers only blobs of the closure. */
const checkBlobs = ({ assignments, closure }: BundleConfig, what: string): void => {
  const named = assignments.flatMap(({ id, blobs = [] }) => blobs.map((digest) => ({ id, digest })));
  if (named.length === 0) return;
  const known = new Set(closure.map(({ digest }) => digest));
  const absent = named.find(({ digest }) => !known.has(digest));
  if (absent)
    throw new FleetError(
      'LAYOUT_INVALID',
      `${what} names ${shortDigest(absent.digest)} for assignment ${absent.id}, which is not in its closure`,
    );
};

/** The bundle's own blobs without the closure: manifest, config, layers. */
export const ownBlobs = (bundle: Bundle): readonly Descriptor[] => [
  { mediaType: bundle.manifest.mediaType, digest: bundle.digest, size: bundle.size },
  bundle.manifest.config,
  ...bundle.manifest.layers,
];
