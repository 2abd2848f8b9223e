import type { ClosureEntry } from '#bundles/bundle/config';
import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/bundle/manifest';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';
import { OCI_MANIFEST } from '#bundles/media-types';

/** An image as the closure names it and all the blobs it is made of, manifests before what they name. */
export type ResolvedImage = { readonly entry: ClosureEntry; readonly blobs: readonly Descriptor[] };

/**
 * Finds pinned images in the layout that holds them. @param names 'host/repo@sha256:...'
 * @throws FleetError MISSING_BLOB with what to do
 */
export const resolveImages = async (
  source: BlobSource | undefined,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly ResolvedImage[]> => {
  const byDigest = Map.groupBy(names, (name) =>
    parseDigest(name.slice(name.indexOf('@') + 1), `digest of ${name}`),
  );
  const images: ResolvedImage[] = [];
  for (const [digest, aliases] of [...byDigest].toSorted(([a], [b]) => compareBytes(a, b))) {
    images.push(await resolveImage(source, digest, aliases.toSorted(compareBytes), signal));
  }
  return images;
};

const resolveImage = async (
  source: BlobSource | undefined,
  digest: Digest,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ResolvedImage> => {
  const size = await source?.size(digest);
  if (!source || size === undefined) {
    throw new FleetError(
      'MISSING_BLOB',
      `the image ${names[0]} is not in ${source ? source.name : 'any layout'}`,
      {
        subject: digest,
        hint: source
          ? `Copy it there, for example: skopeo copy docker://${names[0]} oci:<layout>`
          : 'Name the OCI layout that holds the images with --images',
      },
    );
  }
  const blobs = new Map<Digest, Descriptor>();
  const top = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
  const { mediaType } = parseManifest(top, names[0]);
  const entry: ClosureEntry = { digest, size, mediaType: mediaType ?? OCI_MANIFEST, names };
  const waiting: Descriptor[] = [{ digest, size, mediaType: entry.mediaType }];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (blobs.has(next.digest)) continue;
    blobs.set(next.digest, next);
    if (isManifestType(next.mediaType)) {
      waiting.push(
        ...childrenOf(
          parseManifest(await readBlob(source, next.digest, MAX_MANIFEST_BYTES, signal), names[0]),
        ),
      );
    }
  }
  return { entry, blobs: [...blobs.values()] };
};
