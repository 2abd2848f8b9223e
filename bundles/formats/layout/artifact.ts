import {
  type Descriptor,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseImageManifest,
} from './manifest.ts';
import { digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { OCI_EMPTY, OCI_MANIFEST } from '../../media-types.ts';
import type { BlobSource } from './blobs.ts';
import { type Document, fromDescriptor, toDescriptor } from './document.ts';
import { readBlob } from './verified.ts';

/** How a release, site or receipts artifact is read. */
export type ArtifactOptions = {
  /** For messages: 'prod/line:release'. */
  readonly what: string;
  /** Media type of the artifact; undefined takes any. */
  readonly type?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Returns the documents that an artifact lists (OCI image spec 1.1, "guidelines for artifact usage").
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH, BAD_JSON, TOO_DEEP, LAYOUT_INVALID
 */
export const readArtifact = async (
  blobs: BlobSource,
  { digest }: Pick<Descriptor, 'digest'>,
  { what, type, signal }: ArtifactOptions,
): Promise<readonly Document[]> =>
  parseArtifact(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal), { what, type });

/** As readArtifact, from bytes whose digest is verified. @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, LAYOUT_INVALID */
export const parseArtifact = (bytes: Buffer, { what, type }: ArtifactOptions): readonly Document[] => {
  const manifest = parseImageManifest(bytes, what);
  if (type === undefined || manifest.artifactType === type) return documentsOf(manifest);
  const found = manifest.artifactType ?? manifest.config.mediaType;
  throw new FleetError('LAYOUT_INVALID', `${what} is of type ${found}, not ${type}`);
};

export const documentsOf = (manifest: Manifest): readonly Document[] =>
  manifest.layers.flatMap((layer) => fromDescriptor(layer) ?? []);

/** OCI image spec 1.1, "guidance for an empty descriptor". */
export const EMPTY_CONFIG = Buffer.from('{}');

export const EMPTY_DESCRIPTOR: Descriptor = {
  mediaType: OCI_EMPTY,
  digest: digestOf(EMPTY_CONFIG),
  size: EMPTY_CONFIG.byteLength,
};

/** Encodes an artifact that lists documents in the order given. Equal lists give equal bytes. */
export const encodeArtifact = (
  artifactType: string,
  documents: readonly Document[],
): { readonly bytes: Buffer; readonly descriptor: Descriptor } =>
  encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType,
    config: EMPTY_DESCRIPTOR,
    // Registries want at least one layer (OCI image spec, "guidelines for artifact usage").
    layers: documents.length === 0 ? [EMPTY_DESCRIPTOR] : documents.map(toDescriptor),
  });
