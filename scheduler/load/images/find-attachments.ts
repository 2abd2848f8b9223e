import {
  childrenOf,
  isIndexType,
  isManifestType,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest, hexOf, shortDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { SIGSTORE_BUNDLE } from '#bundles/media-types';
import { COSIGN_SIGN } from '#bundles/trust/images/read-signatures';
import { type Attachment, formatAttachment, type Take } from '../../model/images/attachment.ts';

/** Where an image's attachments may be: its repository, or a layout. Its answers are not trusted. */
export type Beside = {
  readonly blobs: BlobSource;
  /** Manifests whose subject is `about`. */
  readonly referrers: (about: Digest, signal: AbortSignal) => Promise<readonly Digest[]>;
  readonly tagged: (tag: string, signal: AbortSignal) => Promise<Digest | undefined>;
};

export type FoundAttachments = {
  /** Sorted. */
  readonly attachments: readonly Attachment[];
  /** Attachments that are left out, each with the reason. */
  readonly leftOut: readonly string[];
};

/** Upper bound on referrers of one manifest that are considered: anyone with push rights can add some. */
const MAX_EACH = 50;
/** Upper bound for one image, which leaves room in its bundle entry for what policies add. */
const MAX_ALL = 48;
/** An attachment may have attachments: the signature of an SBOM refers to the SBOM. */
const MAX_DEPTH = 3;
const TAGS = ['sig', 'att', 'sbom'] as const;
/** Media type of a Notary Project signature. */
const NOTATION = 'application/vnd.cncf.notary.signature';
const PREDICATE_TYPE = 'dev.sigstore.bundle.predicateType';

/**
 * All attachments of an image: of its manifest or index, of the index it was selected from, and of each platform's manifest.
 * @throws FleetError REGISTRY_*, DIGEST_MISMATCH when a registry returns other content
 */
export const findAttachments = async (
  beside: Beside,
  image: { readonly digest: Digest; readonly index?: Digest | undefined },
  take: Take,
  signal: AbortSignal,
): Promise<FoundAttachments> => {
  if (take.attachments === 'none') return { attachments: [], leftOut: [] };
  const found = new Map<string, Attachment>();
  const leftOut: string[] = [];
  const seen = new Set<Digest>();
  let level = await subjectsOf(beside.blobs, image, signal);
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
    const next: Digest[] = [];
    for (const about of level) {
      signal.throwIfAborted();
      if (seen.has(about)) continue;
      seen.add(about);
      for (const one of await besideOf(beside, about, depth === 0, signal)) {
        const judged = await judge(beside.blobs, one, about, take, signal);
        if (judged === 'wanted') {
          found.set(formatAttachment(one), one);
          if (one.tag === undefined) next.push(one.digest);
        } else if (judged !== 'other') leftOut.push(judged);
      }
    }
    level = next;
  }
  const attachments = [...found.values()].toSorted((a, b) =>
    compareBytes(formatAttachment(a), formatAttachment(b)),
  );
  if (attachments.length > MAX_ALL)
    leftOut.push(
      `${attachments.length - MAX_ALL} of ${attachments.length}, for at most ${MAX_ALL} are taken`,
    );
  return { attachments: attachments.slice(0, MAX_ALL), leftOut };
};

/** The manifests of an image that may be signed. */
const subjectsOf = async (
  blobs: BlobSource,
  { digest, index }: { readonly digest: Digest; readonly index?: Digest | undefined },
  signal: AbortSignal,
): Promise<readonly Digest[]> => {
  const own = [digest, ...(index === undefined ? [] : [index])];
  if ((await blobs.size(digest)) === undefined) return own;
  const parsed = parseManifest(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal), `image ${digest}`);
  const platforms = 'manifests' in parsed ? parsed.manifests : [];
  return [
    ...own,
    ...platforms
      .filter(({ mediaType, platform }) => isManifestType(mediaType) && platform?.os !== 'unknown')
      .map((child) => child.digest),
  ];
};

const besideOf = async (
  { referrers, tagged }: Beside,
  about: Digest,
  withTags: boolean,
  signal: AbortSignal,
): Promise<readonly Attachment[]> => {
  const byTag = async (kind: (typeof TAGS)[number]): Promise<readonly Attachment[]> => {
    const tag = `sha256-${hexOf(about)}.${kind}`;
    const digest = await tagged(tag, signal);
    return digest === undefined ? [] : [{ digest, tag }];
  };
  const [listed, ...byTags] = await Promise.all([
    referrers(about, signal),
    ...(withTags ? TAGS.map(byTag) : []),
  ]);
  const sorted = [...new Set(listed)].toSorted(compareBytes);
  return [...sorted.slice(0, MAX_EACH).map((digest) => ({ digest })), ...byTags.flat()];
};

/** @returns 'wanted'; 'other' for an attachment that is not requested or has another subject; else why it is left out */
const judge = async (
  blobs: BlobSource,
  one: Attachment,
  about: Digest,
  take: Take,
  signal: AbortSignal,
): Promise<string> => {
  const name = one.tag ?? shortDigest(one.digest);
  let manifest: ReturnType<typeof parseManifest>;
  let bytes: Buffer;
  try {
    bytes = await readBlob(blobs, one.digest, MAX_MANIFEST_BYTES, signal);
    manifest = parseManifest(bytes, name);
  } catch (error) {
    if (!isFleetError(error) || error.code.startsWith('REGISTRY_') || error.code === 'ABORTED') throw error;
    return `${name}, which cannot be read: ${error.message}`;
  }
  if ('manifests' in manifest || isIndexType(manifest.mediaType ?? '')) return `${name}, which is an index`;
  if (one.tag === undefined && manifest.subject?.digest !== about) return 'other';
  if (take.attachments === 'signatures' && !isSignature(manifest, one)) return 'other';
  const size = bytes.byteLength + childrenOf(manifest).reduce((sum, child) => sum + child.size, 0);
  if (size > take.maxBytes) return `${name}, which has ${size} bytes, and at most ${take.maxBytes} are taken`;
  return 'wanted';
};

const isSignature = (
  { artifactType, config, layers, annotations }: Manifest,
  { tag }: Attachment,
): boolean => {
  if (tag !== undefined) return tag.endsWith('.sig');
  if (artifactType === NOTATION || config.mediaType === NOTATION) return true;
  const isSigstore = artifactType === SIGSTORE_BUNDLE || layers[0]?.mediaType === SIGSTORE_BUNDLE;
  return isSigstore && [COSIGN_SIGN, undefined].includes(annotations?.[PREDICATE_TYPE]);
};
