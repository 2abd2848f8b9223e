import { isManifestType, MAX_MANIFEST_BYTES, parseManifest } from '#bundles/formats/layout/manifest';
import { type Digest, isDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { OCI_MANIFEST } from '#bundles/media-types';
import type { ImagePlaces } from '../../load/images/image-places.ts';
import { indexHas } from './choose-manifest.ts';
import { canonicalPlatforms, chooseFrom, type FoundImage } from './find-image.ts';
import type { ImageLocks, ImageReference } from './image-lock.ts';

type Reopened = {
  readonly reference: ImageReference;
  /** 'host/repo:tag' */
  readonly full: string;
  /** The locked entry, 'host/repo@sha256:...'. */
  readonly pinned: string;
  readonly locks: ImageLocks;
  readonly places: ImagePlaces;
};

/**
 * The entry of a locked image for today's platforms. The version stays: a manifest that lacks a platform is replaced by one of the index
 * that it was chosen from, or by that index. Nothing is looked up where the file says that the entry serves these platforms.
 * @throws FleetError IMAGE_MISSING where the locked version is not there for a platform; REGISTRY_*
 */
export const reopenLock = async (
  { reference, full, pinned, locks, places }: Reopened,
  signal: AbortSignal,
): Promise<FoundImage> => {
  const digest = pinned.slice(pinned.lastIndexOf('@') + 1);
  const known = locks.platforms.get(digest);
  const wanted = canonicalPlatforms(reference.platforms);
  const stays = { after: pinned };
  if (!isDigest(digest) || wanted.every((platform) => known?.includes(platform))) return stays;
  const repository = full.slice(0, full.lastIndexOf(':'));
  try {
    const { blobs } = places.beside(repository);
    const refusals: unknown[] = [];
    for (const one of [digest, locks.indexes.get(digest)]) {
      const found = isDigest(one) && (await open(blobs, one, signal));
      if (!found) continue;
      try {
        const chosen = await chooseFrom(found, reference, full, signal);
        // A locked index that has more platforms than today's cluster types need stays.
        return one === digest ? { after: pinned, platforms: wanted } : chosen;
      } catch (error) {
        if (!isFleetError(error) || error.code !== 'IMAGE_MISSING') throw error;
        refusals.push(error);
      }
    }
    const tagged = await places.find(full, signal);
    if (tagged && (await indexHas(tagged.source, tagged.descriptor, digest, signal)))
      return await chooseFrom(tagged, reference, full, signal);
    if (refusals.length > 0) throw refusals.at(-1);
  } catch (error) {
    // Locked by a version that did not note platforms: a build judges the image when it fetches it.
    if (known === undefined && isFleetError(error) && error.code.startsWith('REGISTRY_')) return stays;
    throw isFleetError(error) && error.code === 'IMAGE_MISSING' ? moved(error, reference, pinned) : error;
  }
  if (known === undefined) return stays;
  throw moved(undefined, reference, pinned);
};

const open = async (blobs: BlobSource, digest: Digest, signal: AbortSignal) => {
  const size = await blobs.size(digest);
  if (size === undefined) return undefined;
  const { mediaType } = parseManifest(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal));
  return isManifestType(mediaType ?? OCI_MANIFEST)
    ? { source: blobs, descriptor: { digest, size, mediaType: mediaType ?? OCI_MANIFEST } }
    : undefined;
};

const moved = (
  cause: FleetError | undefined,
  { image, platforms }: ImageReference,
  pinned: string,
): FleetError =>
  new FleetError(
    'IMAGE_MISSING',
    `${image} is locked to ${pinned.slice(pinned.lastIndexOf('@') + 1)}, which is not there for ${platforms.join(' and ')}`,
    {
      hint: `To take what the tag means now: fleet-scheduler images lock --update ${image}`,
      cause,
    },
  );
