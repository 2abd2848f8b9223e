import { type AcceptedBundle, checkAudience } from '#bundles/accept/accept-release';
import { closureBlobs } from '#bundles/bundle/closure-blobs';
import { readBundle } from '#bundles/bundle/read-bundle';
import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobRef, Medium, OpenMedium } from '#bundles/medium/medium';
import type { Audience } from '#bundles/statements/predicates';

export type BundleOnMedium = { readonly carried: readonly BlobRef[]; readonly assumed: number };

/**
 * The bundle a release names is here, says what its statement says, and its closure is whole: each blob on the medium or
 * openly left to the site.
 * @throws FleetError MISSING_BLOB, WRONG_*, DIGEST_MISMATCH, LAYOUT_INVALID ...
 */
export const checkBundle = async (
  { path, blobs }: OpenMedium,
  medium: Medium,
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
  for (const blob of await closureBlobs(blobs, bundle, signal)) {
    if ((await blobs.size(blob.digest)) !== undefined) carried.push(blob);
    else if (!assumed.has(blob.digest)) {
      throw new FleetError(
        'MISSING_BLOB',
        `${path} lacks ${shortDigest(blob.digest)} of bundle ${shortDigest(digest)}, and does not leave it to the site`,
        { subject: blob.digest, hint: 'Make the medium again with fleet-export' },
      );
    }
  }
  return { carried, assumed: assumed.size };
};
