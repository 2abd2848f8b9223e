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
  /** Blobs on parts that are not here. */
  readonly absent: number;
  /** Images whose signatures are here and are what the bundle's policies ask for; undefined: left to the site. */
  readonly signed: number | undefined;
};

/**
 * The bundle a release names is here, says what its statement says, and its closure is whole: each blob on the medium or
 * openly left to the site.
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
      `the release names bundle ${shortDigest(digest)}, ${path} has it not`,
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

/** As the site will judge it. A delta may leave the signatures there, a part may lack them: then only the site can. */
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
