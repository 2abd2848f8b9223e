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
import { planShipment } from '#bundles/transport/publish/plan-shipment';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { readOrder } from '#bundles/transport/publish/read-order';
import type { Parcel, Pointer, Shipment } from '#bundles/transport/publish/shipment';
import { signatureTag } from '#bundles/transport/registry/attach-referrer';
import { listedReferrer, mergeSimple } from '#bundles/transport/registry/push-evidence';
import { bundleTag, imageTag } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { mediumOffering } from '../push/medium-offering.ts';
import type { Shelf, Shelves } from './shelves.ts';

export type ShelfOrder = {
  readonly selection: Selection;
  /** The root that was given by hand. */
  readonly pinned: Digest | undefined;
  /** The path below which images lie; '' for none. */
  readonly imagesAt: string;
  readonly signal: AbortSignal;
};

/**
 * Reads statements, manifests and configs, and no other blob. What has ended is served all the same: a node that starts again
 * needs its images, and agents judge for themselves what they install.
 * @throws FleetError those of judging: what is not signed by this medium's roots is not served; MEDIUM_EMPTY, CHANNEL_MISSING,
 * MISSING_BASE, MISSING_BLOB, PARTS_MISSING where nothing is whole
 */
export const fillShelves = async (
  medium: OpenMedium,
  { selection, pinned, imagesAt, signal }: ShelfOrder,
): Promise<Shelves> => {
  const offering = mediumOffering(medium);
  const chosen = choosePointers(offering, selection);
  if (chosen.length === 0)
    throw new FleetError('CHANNEL_MISSING', `${medium.path} has nothing that can be served`);
  const root = await newestRoot(offering, pinned);
  const shelves = new Map<string, Shelf>();
  const made = new Map<Digest, Buffer>();
  const notes: string[] = [];
  const closures: (readonly ClosureEntry[])[] = [];
  const whole: Shipment[] = [];
  let lacking: FleetError | undefined;
  for (const pointer of chosen) {
    signal.throwIfAborted();
    try {
      const shipment = await planPointer(offering, pointer, root, signal);
      if (pointer.tag === 'release') closures.push(...(await closuresOf(offering, shipment, signal)));
      whole.push(shipment);
    } catch (error) {
      if (!isFleetError(error, 'MISSING_BLOB')) throw error;
      lacking ??= notWhole(medium, pointer, error);
      notes.push(`${notWhole(medium, pointer, error).message}, so it is not served`);
    }
  }
  if (lacking && whole.length === 0) throw lacking;
  const put = async (shelf: Shelf, parcel: Parcel): Promise<void> => {
    addParcel(shelf, parcel);
    const { digest } = parcel.descriptor;
    if ((await medium.blobs.size(digest)) === undefined) made.set(digest, parcel.bytes);
  };
  for (const shipment of whole) {
    const shelf = shelfAt(shelves, shipment.repository);
    for (const parcel of shipment.stages.flat()) await put(shelf, parcel);
    for (const { tag, descriptor } of shipment.companions) shelf.tags.set(tag, descriptor.digest);
    shelf.tags.set(shipment.tag, shipment.artifact.digest);
  }
  const mirror = await planMirror(offering.blobs, closures, signal);
  for (const mirrored of mirror) {
    const shelf = shelfAt(shelves, [imagesAt, mirrored.path].filter(Boolean).join('/'));
    for (const parcel of mirrored.stages.flat()) await put(shelf, parcel);
    await addEvidence(shelf, mirrored, offering, made, signal);
  }
  return {
    root,
    blobs: withBytes(offering.blobs, made),
    repositories: shelves,
    images: mirror.length,
    notes,
  };
};

/** The end of the medium's chain; with a root given by hand, of what follows on that. */
const newestRoot = async (offering: Offering, pinned: Digest | undefined): Promise<TrustRoot> => {
  const chain = await readFleetChain(offering);
  if (pinned === undefined || chain.some(({ digest }) => digest === pinned)) return chain.at(-1) as TrustRoot;
  throw new FleetError('ROOT_UNKNOWN', `${offering.directory} does not have the root ${pinned}`, {
    hint: 'This is not the medium of the fleet that you know, or the digest was mistyped',
  });
};

const planPointer = async (
  { blobs }: Offering,
  pointer: Pointer,
  root: TrustRoot,
  signal: AbortSignal,
): Promise<Shipment> => {
  const what = `${pointer.repository}:${pointer.tag}`;
  const documents = await readArtifact(blobs, pointer.artifact, { what, signal });
  // Judged as of when it was signed: here only counts by whom.
  const { at } = await readOrder(pointer, blobs, documents, root);
  return planShipment(blobs, pointer, root, at, signal);
};

const closuresOf = async (
  { blobs }: Offering,
  { stages }: Shipment,
  signal: AbortSignal,
): Promise<readonly (readonly ClosureEntry[])[]> => {
  const bundles = stages.flat().filter(({ tag, descriptor }) => tag === bundleTag(descriptor.digest));
  const read = bundles.map(({ descriptor }) => readBundle(blobs, descriptor.digest, signal));
  return (await Promise.all(read)).map(({ config }) => config.closure);
};

const notWhole = (medium: OpenMedium, { repository, tag }: Pointer, cause: FleetError): FleetError => {
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
      hint: medium.parts ? 'Name the other sticks of the set too' : 'The copy is not whole: make it again',
    },
  );
};

const shelfAt = (shelves: Map<string, Shelf>, name: string): Shelf => {
  const shelf = shelves.get(name) ?? {
    tags: new Map(),
    manifests: new Map(),
    blobs: new Map(),
    referrers: new Map(),
  };
  shelves.set(name, shelf);
  return shelf;
};

const addParcel = (shelf: Shelf, { tag, descriptor, blobs, subject }: Parcel): void => {
  shelf.tags.set(tag, descriptor.digest);
  shelf.manifests.set(descriptor.digest, descriptor);
  for (const { digest, size } of blobs) shelf.blobs.set(digest, size);
  if (subject) refer(shelf, subject, descriptor);
};

const refer = (shelf: Shelf, subject: Digest, referrer: Descriptor): void => {
  const others = shelf.referrers.get(subject) ?? [];
  if (!others.some(({ digest }) => digest === referrer.digest))
    shelf.referrers.set(subject, [...others, referrer]);
};

/** What vouches for an image, where push would put it. */
const addEvidence = async (
  shelf: Shelf,
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
    addParcel(shelf, { tag: imageTag(digest), descriptor, bytes, blobs: childrenOf(manifest) });
    if (isDigest(manifest.subject?.digest)) refer(shelf, manifest.subject.digest, descriptor);
    const isSimple = manifest.layers.some(({ mediaType }) => mediaType === SIMPLE_SIGNING);
    const names = tagsOf.get(digest) ?? (isSimple && !manifest.subject ? [signatureTag(image.digest)] : []);
    for (const tag of names) {
      const before = tagged.get(tag);
      const merged = tag.endsWith('.sbom') ? manifest : (mergeSimple(before, manifest) ?? before ?? manifest);
      tagged.set(tag, merged);
      if (merged === manifest) shelf.tags.set(tag, digest);
      else if (merged !== before) addMerged(shelf, tag, merged, made);
    }
  }
};

/** Everybody's signatures are layers of one manifest, which nobody wrote as it is. */
const addMerged = (shelf: Shelf, tag: string, manifest: Manifest, made: Map<Digest, Buffer>): void => {
  const { bytes, descriptor } = encodeManifest(manifest);
  made.set(descriptor.digest, bytes);
  addParcel(shelf, { tag, descriptor, bytes, blobs: childrenOf(manifest) });
};
