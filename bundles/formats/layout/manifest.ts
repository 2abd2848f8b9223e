import { defined } from '../../defined.ts';
import { isRecord } from '../../is-record.ts';
import { canonicalBytes } from '../../json/canonical.ts';
import { type Digest, digestOf, isDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import {
  BUNDLE_CONFIG,
  BUNDLE_HOST,
  BUNDLE_KUBERNETES,
  DOCKER_INDEX,
  DOCKER_MANIFEST,
  OCI_INDEX,
  OCI_MANIFEST,
} from '../../media-types.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { BundleKind } from '../../names.ts';

/** OCI image spec, "descriptor". */
export type Descriptor = {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly artifactType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly platform?: { readonly os: string; readonly architecture: string; readonly variant?: string };
};

/** OCI image spec, "image manifest". */
export type Manifest = {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly artifactType?: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly subject?: Descriptor;
  readonly annotations?: Readonly<Record<string, string>>;
};

/** OCI image spec, "image index". */
export type ImageIndex = {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
  readonly annotations?: Readonly<Record<string, string>>;
};

/** 4 MiB: the limit of registries. */
export const MAX_MANIFEST_BYTES = 4 << 20;

const ARTIFACT_TYPES: Record<BundleKind, string> = { kubernetes: BUNDLE_KUBERNETES, host: BUNDLE_HOST };

/** Bytes and descriptor of a manifest; canonical JSON, so that the same content has one digest. */
export const encodeManifest = (
  manifest: Manifest,
): { readonly bytes: Buffer; readonly descriptor: Descriptor } => {
  const bytes = canonicalBytes(manifest);
  const descriptor: Descriptor = defined({
    mediaType: manifest.mediaType,
    digest: digestOf(bytes),
    size: bytes.byteLength,
    artifactType: manifest.artifactType,
  });
  return { bytes, descriptor };
};

/** The manifest of a bundle: an image manifest, never an index, so that stock cosign verifies it on disk. */
export const bundleManifest = (
  kind: BundleKind,
  config: Descriptor,
  layers: readonly Descriptor[],
): Manifest => ({
  schemaVersion: 2,
  mediaType: OCI_MANIFEST,
  artifactType: ARTIFACT_TYPES[kind],
  config,
  layers,
});

/** The kind of bundle of a manifest, undefined for any other artifact. */
export const bundleKindOf = (manifest: Manifest): BundleKind | undefined => {
  if (manifest.config.mediaType !== BUNDLE_CONFIG) return undefined;
  if (manifest.artifactType === BUNDLE_KUBERNETES) return 'kubernetes';
  return manifest.artifactType === BUNDLE_HOST ? 'host' : undefined;
};

export const isIndexType = (mediaType: string): boolean =>
  mediaType === OCI_INDEX || mediaType === DOCKER_INDEX;
export const isManifestType = (mediaType: string): boolean =>
  mediaType === OCI_MANIFEST || mediaType === DOCKER_MANIFEST || isIndexType(mediaType);

/** An image manifest or index from untrusted bytes. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, LAYOUT_INVALID */
export const parseManifest = (
  bytes: Uint8Array,
  what = 'manifest',
  maxBytes = MAX_MANIFEST_BYTES,
): Manifest | ImageIndex => {
  const value = parseStrictJson(bytes, { maxBytes }, what);
  const descriptors = isRecord(value) ? descriptorsOf(value) : undefined;
  if (!Array.isArray(descriptors) || !descriptors.every(isDescriptor)) {
    throw new FleetError('LAYOUT_INVALID', `${what} is neither an OCI image manifest nor an index`);
  }
  return value as Manifest | ImageIndex;
};

/** Rejects a document that is both manifest and index: other readers could take it for the other kind (CVE-2021-41190). */
const descriptorsOf = (value: Partial<Record<string, unknown>>): unknown => {
  if ('manifests' in value) return 'config' in value || 'layers' in value ? undefined : value['manifests'];
  return Array.isArray(value['layers']) ? [value['config'], ...value['layers']] : undefined;
};

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, LAYOUT_INVALID, the last also for an index */
export const parseImageManifest = (bytes: Uint8Array, what = 'manifest'): Manifest => {
  const manifest = parseManifest(bytes, what);
  if ('manifests' in manifest)
    throw new FleetError('LAYOUT_INVALID', `${what} is an index where an image manifest belongs`);
  return manifest;
};

/** Descriptors in a manifest, in the order in which they are fetched: config, then layers; or the manifests of an index. */
export const childrenOf = (manifest: Manifest | ImageIndex): readonly Descriptor[] =>
  'manifests' in manifest ? manifest.manifests : [manifest.config, ...manifest.layers];

const isDescriptor = (value: unknown): value is Descriptor => {
  const it = value as Partial<Descriptor> | null | undefined;
  return (
    isDigest(it?.digest) &&
    Number.isSafeInteger(it?.size) &&
    Number(it?.size) >= 0 &&
    typeof it?.mediaType === 'string' &&
    (it.annotations === undefined ||
      (isRecord(it.annotations) && Object.values(it.annotations).every((text) => typeof text === 'string')))
  );
};
