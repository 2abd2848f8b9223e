import type { AcceptedBundle } from '#bundles/trust/accept/accept-release';
import { checkAudience } from '#bundles/trust/accept/check-audience';
import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, isDigest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { BlobRef } from '#bundles/formats/medium/medium';
import { checkImages } from '#bundles/trust/images/check-images';
import type { Audience } from '#bundles/formats/statements/predicates';
import type { Judged } from './judged.ts';

export type BundleOnMedium = {
  readonly carried: readonly BlobRef[];
  readonly assumed: number;
  /** Number of blobs on absent parts. */
  readonly absent: number;
  /** Number of images with valid signatures according to the bundle's policies; undefined: left to the site. */
  readonly signed: number | undefined;
};

/**
 * Checks a bundle that a release names: it is on the medium, matches its statement, and each blob of its closure is on the medium or
 * declared as present at the site.
 * @throws FleetError MISSING_BLOB, IMAGE_UNSIGNED, WRONG_*, DIGEST_MISMATCH, LAYOUT_INVALID ...
 */
export const checkBundle = async (
  { path, medium, blobs, elsewhere }: Judged,
  { digest, kind }: AcceptedBundle,
  audience: Audience,
  signal?: AbortSignal,
): Promise<BundleOnMedium> => {
  const entry = medium.bundles.find((it) => it.digest === digest);
  if (!entry) {
    throw new FleetError(
      'MISSING_BLOB',
      `the release names bundle ${shortDigest(digest)}, which ${path} does not have`,
      {
        subject: digest,
      },
    );
  }
  const bundle = await readBundle(blobs, digest, signal);
  const what = `the config of bundle ${shortDigest(digest)}`;
  checkAudience(bundle.config, audience, what);
  checkAudience({ ...entry, fleet: medium.fleet }, audience, `the entry of bundle ${shortDigest(digest)}`);
  if (bundle.kind !== kind || entry.kind !== kind)
    throw new FleetError('WRONG_TYPE', `${what} says ${bundle.kind}, the release says ${kind}`);
  const assumed = new Set(entry.assumed.map((blob) => blob.digest));
  const carried: BlobRef[] = [];
  let absent = 0;
  for (const blob of await closureBlobs(blobs, bundle, signal)) {
    if ((await blobs.size(blob.digest)) !== undefined) carried.push(blob);
    else if (elsewhere(blob.digest)) absent += 1;
    else if (!assumed.has(blob.digest)) {
      throw new FleetError(
        'MISSING_BLOB',
        `${path} lacks ${shortDigest(blob.digest)} of bundle ${shortDigest(digest)}, and does not leave it to the site`,
        { subject: blob.digest, hint: 'Make the medium again with fleet-export' },
      );
    }
  }
  const isLeft = (digest: Digest): boolean => assumed.has(digest) || elsewhere(digest);
  return { carried, assumed: assumed.size, absent, signed: await countSigned(blobs, bundle, isLeft, signal) };
};

/** Verifies image signatures as the site will. undefined if they are not on the medium, as for a delta or an absent part. */
const countSigned = async (
  blobs: BlobSource,
  { config }: Bundle,
  isLeft: (digest: Digest) => boolean,
  signal: AbortSignal | undefined,
): Promise<number | undefined> => {
  try {
    return await checkImages(blobs, config, [], signal);
  } catch (error) {
    if (isFleetError(error, 'MISSING_BLOB') && isDigest(error.subject) && isLeft(error.subject))
      return undefined;
    throw error;
  }
};
