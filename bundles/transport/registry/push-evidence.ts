import { defined } from '../../defined.ts';
import type { ClosureEntry } from '../../formats/bundle/config.ts';
import {
  childrenOf,
  type Descriptor,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseImageManifest,
} from '../../formats/layout/manifest.ts';
import { type Digest, isDigest } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob, verified } from '../../formats/layout/verified.ts';
import { COSIGN_SIGNATURE, SIMPLE_SIGNING } from '../../media-types.ts';
import { attachReferrer, signatureTag, writeShared } from './attach-referrer.ts';
import { imageTag } from './references.ts';
import type { Repository } from './registry.ts';

/**
 * Pushes the attachments of an image to the places that cosign uses, where an admission controller or policy.json finds them: as a referrer,
 * or under a tag such as 'sha256-<hex>.sig'. The attachment's own tag 'i-<hex>' comes last and shows that the others are complete.
 */
export const pushEvidence = async (
  repository: Repository,
  { digest: image, attachments = [], attachmentTags = {} }: ClosureEntry,
  source: BlobSource,
  signal: AbortSignal,
): Promise<void> => {
  const tagsOf = Map.groupBy(Object.keys(attachmentTags), (tag) => attachmentTags[tag]);
  for (const attachment of attachments) {
    signal.throwIfAborted();
    const bytes = await readBlob(source, attachment, MAX_MANIFEST_BYTES, signal);
    const manifest = parseImageManifest(bytes, `the attachment ${attachment}`);
    for (const { digest, size } of childrenOf(manifest)) {
      const open = async () => verified(digest, size, await source.open(digest, signal), source.name);
      await repository.pushBlob({ digest, size }, open, { signal });
    }
    const { mediaType, subject } = manifest;
    const tags = tagsOf.get(attachment) ?? [];
    const isSimple = manifest.layers.some((layer) => layer.mediaType === SIMPLE_SIGNING);
    await repository.pushManifest(attachment, { mediaType, bytes }, signal);
    if (isDigest(subject?.digest))
      await attachReferrer(repository, subject.digest, listedReferrer(attachment, bytes, manifest), signal);
    else if (isSimple && tags.length === 0)
      await addSimple(repository, signatureTag(image), { manifest, bytes }, signal);
    for (const tag of tags) {
      if (tag.endsWith('.sbom')) await replaceOurs(repository, tag, { manifest, bytes }, signal);
      else await addSimple(repository, tag, { manifest, bytes }, signal);
    }
    await repository.pushManifest(imageTag(attachment), { mediaType, bytes }, signal);
  }
};

/** A manifest with its original bytes. */
type Ours = { readonly manifest: Manifest; readonly bytes: Buffer };

/** Adds our layers to the manifest under the tag and keeps the signatures of others. */
const addSimple = async (
  repository: Repository,
  tag: string,
  { manifest: ours, bytes: asWritten }: Ours,
  signal: AbortSignal,
): Promise<void> => {
  const merge = (there: Buffer | undefined) => {
    const before = there && parseImageManifest(there, `${repository.name}:${tag}`);
    const merged = mergeSimple(before, ours);
    if (!merged) return undefined;
    const bytes = merged === ours ? asWritten : encodeManifest(merged).bytes;
    return { mediaType: merged.mediaType, bytes };
  };
  await writeShared(repository, tag, merge, signal);
};

/** Replaces an SBOM that we pushed before; one pushed by others stays. */
const replaceOurs = async (
  repository: Repository,
  tag: string,
  { manifest: { mediaType }, bytes }: Ours,
  signal: AbortSignal,
): Promise<void> => {
  const there = await repository.resolve(tag, signal);
  const isOurs = there && (await repository.resolve(imageTag(there.digest), signal)) !== undefined;
  if (!there || isOurs) await repository.pushManifest(tag, { mediaType, bytes }, signal);
};

/** Merges the signatures of two manifests; undefined if ours adds none. */
export const mergeSimple = (before: Manifest | undefined, ours: Manifest): Manifest | undefined => {
  // An attestation's annotation is empty: its signature is in the layer.
  const nameOf = ({ annotations, digest }: Descriptor): string => annotations?.[COSIGN_SIGNATURE] || digest;
  const known = new Set(before?.layers.map(nameOf));
  const fresh = ours.layers.filter((layer) => !known.has(nameOf(layer)));
  if (fresh.length === 0) return undefined;
  return before ? { ...before, layers: [...before.layers, ...fresh] } : ours;
};

/** The descriptor that the referrers API returns (OCI distribution spec 1.1, "Listing Referrers"). */
export const listedReferrer = (digest: Digest, bytes: Buffer, manifest: Manifest): Descriptor => {
  const { mediaType, artifactType, annotations } = manifest;
  return defined({
    mediaType,
    digest,
    size: bytes.byteLength,
    artifactType: artifactType ?? manifest.config.mediaType,
    annotations,
  });
};
