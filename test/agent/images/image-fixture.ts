import { writeTar } from '#bundles/formats/archive/write-tar';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import { OCI_EMPTY, OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';

/** Blobs in memory, as a medium has them. */
export type Blobs = Map<Digest, Buffer>;

export const sourceOf = (blobs: ReadonlyMap<Digest, Buffer>, name = 'medium test'): BlobSource => ({
  name,
  size: async (digest) => blobs.get(digest)?.byteLength,
  open: async (digest) => {
    const bytes = blobs.get(digest);
    if (!bytes) throw missingBlob(digest, name);
    return chunks(bytes);
  },
});

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 64 << 10) yield bytes.subarray(at, at + (64 << 10));
}

export const put = (blobs: Blobs, mediaType: string, bytes: Buffer): Descriptor => {
  const digest = digestOf(bytes);
  blobs.set(digest, bytes);
  return { mediaType, digest, size: bytes.byteLength };
};

export const putJson = (blobs: Blobs, mediaType: string, value: object): Descriptor =>
  put(blobs, mediaType, canonicalBytes(value as never));

/** A layer, not compressed, of these files. */
export const putLayer = async (
  blobs: Blobs,
  files: Readonly<Record<string, string | Buffer>>,
): Promise<Descriptor> => {
  const entries = Object.entries(files).map(([path, content]) => {
    const bytes = Buffer.from(content);
    return { path, size: bytes.byteLength, mode: 0o755, content: bytes };
  });
  const tar = Buffer.concat(await Array.fromAsync(writeTar(entries)));
  return put(blobs, 'application/vnd.oci.image.layer.v1.tar', tar);
};

export type ImageParts = {
  readonly layers: readonly Descriptor[];
  readonly architecture?: string;
  readonly entrypoint?: readonly string[];
};

/** One platform's manifest. */
export const putImage = (
  blobs: Blobs,
  { layers, architecture = 'amd64', entrypoint }: ImageParts,
): Descriptor => {
  const config = putJson(blobs, 'application/vnd.oci.image.config.v1+json', {
    architecture,
    os: 'linux',
    config: { Entrypoint: entrypoint ?? ['/app'] },
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const manifest = { schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers };
  return { ...putJson(blobs, OCI_MANIFEST, manifest), platform: { os: 'linux', architecture } };
};

/** What buildx hangs beside each platform: a manifest for no platform at all. */
export const putAttestation = (blobs: Blobs, about: Descriptor): Descriptor => {
  const config = putJson(blobs, 'application/vnd.oci.image.config.v1+json', {
    architecture: 'unknown',
    os: 'unknown',
    config: {},
    rootfs: { type: 'layers', diff_ids: [] },
  });
  const layer = putJson(blobs, 'application/vnd.in-toto+json', { about: about.digest });
  return {
    ...putJson(blobs, OCI_MANIFEST, { schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers: [layer] }),
    platform: { os: 'unknown', architecture: 'unknown' },
    annotations: { 'vnd.docker.reference.type': 'attestation-manifest' },
  };
};

export const putIndex = (blobs: Blobs, manifests: readonly Descriptor[], mediaType = OCI_INDEX): Descriptor =>
  putJson(blobs, mediaType, { schemaVersion: 2, mediaType, manifests });

/** An artifact of no layers that mean anything: one empty blob for config and layer. */
export const putEmpty = (blobs: Blobs): Descriptor => {
  const empty = put(blobs, OCI_EMPTY, Buffer.from('{}'));
  return putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: empty,
    layers: [empty],
  });
};

/** As a bundle's closure has it. @param repositories 'host/repo' */
export const closureEntry = (
  { digest, size, mediaType }: Descriptor,
  ...repositories: readonly string[]
): ClosureEntry => ({
  digest,
  size,
  mediaType,
  names: repositories.map((repository) => `${repository}@${digest}`).toSorted(),
});
