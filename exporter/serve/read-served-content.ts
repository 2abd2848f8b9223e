import type { ClosureEntry } from '#bundles/formats/bundle/config';
import {
  childrenOf,
  type Descriptor,
  encodeManifest,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseImageManifest,
} from '#bundles/formats/layout/manifest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, isDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/formats/layout/artifact';
import { readBlob } from '#bundles/formats/layout/verified';
import { withBytes } from '#bundles/formats/layout/with-bytes';
import { SIMPLE_SIGNING } from '#bundles/media-types';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { choosePointers, type Selection } from '#bundles/transport/publish/choose-pointers';
import type { Offering } from '#bundles/transport/publish/offering';
import { type MirroredImage, planMirror } from '#bundles/transport/publish/plan-mirror';
import { planBatch } from '#bundles/transport/publish/plan-batch';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { readVersion } from '#bundles/transport/publish/read-version';
import type { ManifestUpload, Pointer, UploadBatch } from '#bundles/transport/publish/upload-batch';
import { signatureTag } from '#bundles/transport/registry/attach-referrer';
import { listedReferrer, mergeSimple } from '#bundles/transport/registry/push-evidence';
import { bundleTag, imageTag } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { mediumOffering } from '../push/medium-offering.ts';
import type { ServedRepository, ServedContent } from './served-content.ts';

export type ServedSelection = {
  readonly selection: Selection;
  /** The trusted root, if --root-sha256 was given. */
  readonly pinned: Digest | undefined;
  /** Path below which images are served, '' for none. */
  readonly imagesAt: string;
  readonly signal: AbortSignal;
};

/**
 * Reads statements, manifests and configs, and no other blob. Expired releases are served too: a node that restarts needs its
 * images, and agents decide what they install.
 * @throws FleetError as readVersion for content that this medium's roots did not sign; MEDIUM_EMPTY, CHANNEL_MISSING; MISSING_BASE,
 * MISSING_BLOB, PARTS_MISSING if nothing is complete
 */
export const readServedContent = async (
  medium: OpenMedium,
  { selection, pinned, imagesAt, signal }: ServedSelection,
): Promise<ServedContent> => {
  const offering = mediumOffering(medium);
  const chosen = choosePointers(offering, selection);
  if (chosen.length === 0)
    throw new FleetError('CHANNEL_MISSING', `${medium.path} has no releases or site statements to serve`);
  const root = await newestRoot(offering, pinned);
  const repositories = new Map<string, ServedRepository>();
  const made = new Map<Digest, Buffer>();
  const notes: string[] = [];
  const closures: (readonly ClosureEntry[])[] = [];
  const whole: UploadBatch[] = [];
  let lacking: FleetError | undefined;
  for (const pointer of chosen) {
    signal.throwIfAborted();
    try {
      const batch = await planPointer(offering, pointer, root, signal);
      if (pointer.tag === 'release') closures.push(...(await closuresOf(offering, batch, signal)));
      whole.push(batch);
    } catch (error) {
      if (!isFleetError(error, 'MISSING_BLOB')) throw error;
      lacking ??= incompleteError(medium, pointer, error);
      notes.push(`${incompleteError(medium, pointer, error).message}, so it is not served`);
    }
  }
  if (lacking && whole.length === 0) throw lacking;
  const put = async (repository: ServedRepository, upload: ManifestUpload): Promise<void> => {
    addManifest(repository, upload);
    const { digest } = upload.descriptor;
    if ((await medium.blobs.size(digest)) === undefined) made.set(digest, upload.bytes);
  };
  for (const batch of whole) {
    const repository = repositoryAt(repositories, batch.repository);
    for (const upload of batch.stages.flat()) await put(repository, upload);
    for (const { tag, descriptor } of batch.companions) repository.tags.set(tag, descriptor.digest);
    repository.tags.set(batch.tag, batch.artifact.digest);
  }
  const mirror = await planMirror(offering.blobs, closures, signal);
  for (const mirrored of mirror) {
    const repository = repositoryAt(repositories, [imagesAt, mirrored.path].filter(Boolean).join('/'));
    for (const upload of mirrored.stages.flat()) await put(repository, upload);
    await addEvidence(repository, mirrored, offering, made, signal);
  }
  return {
    root,
    blobs: withBytes(offering.blobs, made),
    repositories,
    images: mirror.length,
    notes,
  };
};

/** The newest root of the medium. @throws FleetError ROOT_UNKNOWN if the trusted root is not in its chain */
const newestRoot = async (offering: Offering, pinned: Digest | undefined): Promise<TrustRoot> => {
  const chain = await readFleetChain(offering);
  if (pinned === undefined || chain.some(({ digest }) => digest === pinned)) return chain.at(-1) as TrustRoot;
  throw new FleetError('ROOT_UNKNOWN', `${offering.directory} does not have the root ${pinned}`, {
    hint: 'The medium is from another fleet, or the digest is mistyped',
  });
};

const planPointer = async (
  { blobs }: Offering,
  pointer: Pointer,
  root: TrustRoot,
  signal: AbortSignal,
): Promise<UploadBatch> => {
  const what = `${pointer.repository}:${pointer.tag}`;
  const documents = await readArtifact(blobs, pointer.artifact, { what, signal });
  // Verified as of the time of signing: only the signer matters here, not the expiry.
  const { at } = await readVersion(pointer, blobs, documents, root);
  return planBatch(blobs, pointer, root, at, signal);
};

const closuresOf = async (
  { blobs }: Offering,
  { stages }: UploadBatch,
  signal: AbortSignal,
): Promise<readonly (readonly ClosureEntry[])[]> => {
  const bundles = stages.flat().filter(({ tag, descriptor }) => tag === bundleTag(descriptor.digest));
  const read = bundles.map(({ descriptor }) => readBundle(blobs, descriptor.digest, signal));
  return (await Promise.all(read)).map(({ config }) => config.closure);
};

const incompleteError = (medium: OpenMedium, { repository, tag }: Pointer, cause: FleetError): FleetError => {
  const assumed = medium.medium?.bundles.some(
    (bundle) => `${bundle.environment}/${bundle.clusterType}` === repository && bundle.assumed.length > 0,
  );
  const what = `${repository}:${tag}`;
  const more = { subject: cause.subject, cause };
  if (assumed) {
    return new FleetError('MISSING_BASE', `${medium.path} is a delta and does not carry all of ${what}`, {
      ...more,
      hint: 'Push it into a registry that has the base (fleet-export push), or serve a full medium',
    });
  }
  return new FleetError(
    medium.parts ? 'PARTS_MISSING' : 'MISSING_BLOB',
    `${medium.path} does not have all of ${what}`,
    {
      ...more,
      hint: medium.parts ? 'Name the other sticks of the set too' : 'The copy is not complete: copy it again',
    },
  );
};

const repositoryAt = (repositories: Map<string, ServedRepository>, name: string): ServedRepository => {
  const repository = repositories.get(name) ?? {
    tags: new Map(),
    manifests: new Map(),
    blobs: new Map(),
    referrers: new Map(),
  };
  repositories.set(name, repository);
  return repository;
};

const addManifest = (
  repository: ServedRepository,
  { tag, descriptor, blobs, subject }: ManifestUpload,
): void => {
  repository.tags.set(tag, descriptor.digest);
  repository.manifests.set(descriptor.digest, descriptor);
  for (const { digest, size } of blobs) repository.blobs.set(digest, size);
  if (subject) refer(repository, subject, descriptor);
};

const refer = (repository: ServedRepository, subject: Digest, referrer: Descriptor): void => {
  const others = repository.referrers.get(subject) ?? [];
  if (!others.some(({ digest }) => digest === referrer.digest))
    repository.referrers.set(subject, [...others, referrer]);
};

/** Adds signatures and attestations of an image, under the tags that push uses. */
const addEvidence = async (
  repository: ServedRepository,
  { image }: MirroredImage,
  { blobs }: Offering,
  made: Map<Digest, Buffer>,
  signal: AbortSignal,
): Promise<void> => {
  const { attachments = [], attachmentTags = {} } = image;
  const tagsOf = Map.groupBy(Object.keys(attachmentTags), (tag) => attachmentTags[tag]);
  const tagged = new Map<string, Manifest>();
  for (const digest of attachments) {
    const bytes = await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal);
    const manifest = parseImageManifest(bytes, `the attachment ${digest}`);
    const descriptor = listedReferrer(digest, bytes, manifest);
    addManifest(repository, { tag: imageTag(digest), descriptor, bytes, blobs: childrenOf(manifest) });
    if (isDigest(manifest.subject?.digest)) refer(repository, manifest.subject.digest, descriptor);
    const isSimple = manifest.layers.some(({ mediaType }) => mediaType === SIMPLE_SIGNING);
    const names = tagsOf.get(digest) ?? (isSimple && !manifest.subject ? [signatureTag(image.digest)] : []);
    for (const tag of names) {
      const before = tagged.get(tag);
      const merged = tag.endsWith('.sbom') ? manifest : (mergeSimple(before, manifest) ?? before ?? manifest);
      tagged.set(tag, merged);
      if (merged === manifest) repository.tags.set(tag, digest);
      else if (merged !== before) addMerged(repository, tag, merged, made);
    }
  }
};

/** Adds a manifest made here, whose layers are the simple signatures of several manifests. */
const addMerged = (
  repository: ServedRepository,
  tag: string,
  manifest: Manifest,
  made: Map<Digest, Buffer>,
): void => {
  const { bytes, descriptor } = encodeManifest(manifest);
  made.set(descriptor.digest, bytes);
  addManifest(repository, { tag, descriptor, bytes, blobs: childrenOf(manifest) });
};
