import {
  type Descriptor,
  isIndexType,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import { isFleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { type Layout, referenceOf } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import {
  type ImageSignature,
  MAX_SIGNATURE_MANIFEST,
  readSignatures,
} from '#bundles/trust/images/read-signatures';
import { isWrappedIndex, namedBy } from '#bundles/trust/images/signed-index';
import { isFatalForJudging } from '../../../model/problems.ts';
import type { EvidencePlace } from './evidence-place.ts';

type Contents = {
  readonly blobs: BlobSource;
  /** Signatures by the digest of their claimed subject. */
  readonly signatures: ReadonlyMap<Digest, readonly ImageSignature[]>;
  /** Indexes by each manifest that they name. */
  readonly indexes: ReadonlyMap<Digest, readonly Buffer[]>;
};

/**
 * Signatures in an OCI layout, recognised by content and not by tag: tools that copy images into a layout name them in three
 * different ways. All entries of index.json are read once, at the first request.
 */
export const layoutEvidence = (
  name: string,
  open: () => Promise<Pick<Layout, 'blobs' | 'manifests'>>,
): EvidencePlace => {
  let reading: Promise<Contents> | undefined;
  const contents = (signal: AbortSignal): Promise<Contents> =>
    (reading ??= open().then((layout) => readContents(layout, signal)));
  return {
    name,
    signatures: async (about, _names, signal) => (await contents(signal)).signatures.get(about) ?? [],
    indexes: async (manifest, _names, noted, signal) => {
      const { blobs, indexes } = await contents(signal);
      const known = indexes.get(manifest) ?? [];
      if (noted === undefined || (await blobs.size(noted)) === undefined) return known;
      return [...known, await readBlob(blobs, noted, MAX_MANIFEST_BYTES, signal)];
    },
  };
};

/** Artifacts of a release layout that are not images and not signatures of images. */
const RELEASE_REFERENCE = /^[^:]+:(?:[brs]-[0-9a-f]{64}|release|site|receipts|lease|bundle|revocations)$/;

const readContents = async (
  { blobs, manifests }: Pick<Layout, 'blobs' | 'manifests'>,
  signal: AbortSignal,
): Promise<Contents> => {
  const signatures = new Map<Digest, ImageSignature[]>();
  const indexes = new Map<Digest, Buffer[]>();
  const seen = new Set<Digest>();
  const waiting: Descriptor[] = manifests.filter((one) => !RELEASE_REFERENCE.test(referenceOf(one) ?? ''));
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    signal.throwIfAborted();
    if (seen.has(next.digest) || !isManifestType(next.mediaType)) continue;
    seen.add(next.digest);
    try {
      if (isIndexType(next.mediaType))
        waiting.push(...(await readIndex(blobs, next.digest, indexes, signal)));
      else await readManifest(blobs, next, { signatures, indexes }, signal);
    } catch (error) {
      const known = toFleetError(error);
      if (isFatalForJudging(known) || !isFleetError(error)) throw known;
      // A damaged image is reported by the code that needs it.
    }
  }
  return { blobs, signatures, indexes };
};

/** @returns manifests without a platform: a list of referrers is an index of them */
const readIndex = async (
  blobs: BlobSource,
  digest: Digest,
  indexes: Map<Digest, Buffer[]>,
  signal: AbortSignal,
): Promise<readonly Descriptor[]> => {
  const bytes = await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal);
  const parsed = parseManifest(bytes, `index ${digest}`);
  const children = 'manifests' in parsed ? parsed.manifests : [];
  for (const child of children) append(indexes, child.digest, bytes);
  return children.filter(({ platform }) => platform === undefined);
};

const readManifest = async (
  blobs: BlobSource,
  { digest, size }: Descriptor,
  { signatures, indexes }: { signatures: Map<Digest, ImageSignature[]>; indexes: Map<Digest, Buffer[]> },
  signal: AbortSignal,
): Promise<void> => {
  if (size > MAX_SIGNATURE_MANIFEST) return;
  const manifest = parseManifest(await readBlob(blobs, digest, MAX_SIGNATURE_MANIFEST, signal));
  if ('manifests' in manifest) return;
  const [layer] = manifest.layers;
  if (layer && isWrappedIndex(manifest)) {
    const index = await readBlob(blobs, layer.digest, MAX_MANIFEST_BYTES, signal);
    for (const child of namedBy(index)) append(indexes, child, index);
    return;
  }
  const found = await readSignatures(blobs, digest, signal);
  for (const signature of found.signatures)
    for (const about of new Set(signature.about)) append(signatures, about, signature);
};

const append = <T>(map: Map<Digest, T[]>, key: Digest, value: T): void => {
  const list = map.get(key) ?? [];
  list.push(value);
  map.set(key, list);
};
