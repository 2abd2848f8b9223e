import type { ClosureEntry } from '#bundles/formats/bundle/config';
import {
  childrenOf,
  type Descriptor,
  type ImageIndex,
  isManifestType,
  type Manifest,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { BlobSource, BlobStore } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { OCI_MANIFEST } from '#bundles/media-types';
import { copyBlobs } from './copy-blobs.ts';
import type { SignedRepository } from './signatures/registry-evidence.ts';
import type { ResolvedImage } from './resolved-image.ts';

/** The repository in the name of an image. @param name 'host/repo@sha256:...' */
export type PullImage = (name: string) => SignedRepository;

/** Where images come from. */
export type ImageOrigin = {
  /** Layouts, in the order in which they are searched. */
  readonly sources: readonly BlobSource[];
  /** Registries of the images' names, after the layouts; undefined: not used. */
  readonly pull?: ((name: string) => Pick<SignedRepository, 'blobs'>) | undefined;
  /** Gets every blob of an image before the image counts as found; undefined: only manifests are read. */
  readonly store?: BlobStore | undefined;
};

/**
 * Finds pinned images in the first layout that has them whole, or in the registries of their names.
 * @param names 'host/repo@sha256:...'
 * @throws FleetError with the digest of the image as subject: MISSING_BLOB, IMAGE_MISSING with a hint; DIGEST_MISMATCH,
 * SIZE_MISMATCH; REGISTRY_*
 */
export const resolveImages = async (
  origin: ImageOrigin,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly ResolvedImage[]> => {
  const byDigest = Map.groupBy(names, (name) =>
    parseDigest(name.slice(name.indexOf('@') + 1), `digest of ${name}`),
  );
  const images: ResolvedImage[] = [];
  for (const [digest, aliases] of [...byDigest].toSorted(([a], [b]) => compareBytes(a, b))) {
    const sorted = aliases.toSorted(compareBytes);
    const found = await resolveManifest(origin, digest, sorted, signal);
    images.push({ ...found, entry: { ...found.entry, names: sorted } });
  }
  return images;
};

/**
 * A manifest and all blobs that it reaches, without names. A place that has the manifest and lacks another blob, or has it damaged,
 * is passed over for the next one. @param names names of the image, which say where it can be pulled from
 */
export const resolveManifest = async (
  origin: ImageOrigin,
  digest: Digest,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ResolvedImage> => {
  const image = names[0] ?? digest;
  const { sources, pull, store } = origin;
  let failure: unknown;
  for (const source of placesOf(origin, names)) {
    try {
      const size = await source.size(digest);
      if (size === undefined) continue;
      const found = await readImage(source, { digest, size }, image, signal);
      if (!store) return found;
      await copyBlobs(store, found, signal);
      return { ...found, source: store };
    } catch (error) {
      signal.throwIfAborted();
      failure ??= error;
    }
  }
  if (failure === undefined) throw pull ? notPushed(image, digest) : missing(sources, image, digest);
  throw ofImage(toFleetError(failure), image, digest);
};

/** Registries after the layouts. The same content may have several names, in several registries. */
function* placesOf({ sources, pull }: ImageOrigin, names: readonly string[]): Generator<BlobSource> {
  yield* sources;
  if (pull) for (const name of names) yield pull(name).blobs;
}

const readImage = async (
  source: BlobSource,
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
  image: string,
  signal: AbortSignal,
): Promise<ResolvedImage> => {
  const blobs = new Map<Digest, Descriptor>();
  const read = async (manifest: Digest): Promise<Manifest | ImageIndex> =>
    parseManifest(await readBlob(source, manifest, MAX_MANIFEST_BYTES, signal), image);
  const top = await read(digest);
  const entry: ClosureEntry = { digest, size, mediaType: top.mediaType ?? OCI_MANIFEST };
  const waiting: Descriptor[] = [{ digest, size, mediaType: entry.mediaType }];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (blobs.has(next.digest)) continue;
    blobs.set(next.digest, next);
    if (isManifestType(next.mediaType))
      waiting.push(...childrenOf(next.digest === digest ? top : await read(next.digest)));
  }
  return { entry, blobs: [...blobs.values()], source };
};

/** An error about one blob names the image, for people who do not know its blobs. */
const ofImage = (error: FleetError, image: string, digest: Digest): FleetError =>
  error.subject === digest && error.message.includes(image)
    ? error
    : new FleetError(error.code, `the image ${image} cannot be carried along: ${error.message}`, {
        subject: digest,
        hint: error.hint,
        cause: error,
      });

const notPushed = (image: string, digest: Digest): FleetError =>
  new FleetError('IMAGE_MISSING', `the image ${image} is in no layout, and its registry does not have it`, {
    subject: digest,
    hint: 'Was it removed there? Push it again, or lock what is there now: fleet-scheduler images lock --update',
  });

const missing = (sources: readonly BlobSource[], image: string, digest: Digest): FleetError =>
  new FleetError(
    'MISSING_BLOB',
    `the image ${image} is not in ${sources.length > 0 ? sources.map((it) => it.name).join(' or ') : 'any layout'}`,
    {
      subject: digest,
      hint: `Pull it with --pull-images, or copy it into the layout of --images: skopeo copy docker://${image} oci:<layout>`,
    },
  );
