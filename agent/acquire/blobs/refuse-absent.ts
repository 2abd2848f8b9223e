import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Bundle, ownBlobs } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { Medium } from '#bundles/formats/medium/medium';
import type { Agent } from '../../store/agent.ts';
import { refuseMissingBase } from './missing-base.ts';
import type { Source } from './source.ts';

/**
 * Refuses an offer with absent blobs. The medium's table of contents tells blobs left out on purpose from lost ones.
 * @throws FleetError MISSING_BASE for the former, MISSING_BLOB for the latter; always
 */
export const refuseAbsent = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  absent: readonly Descriptor[],
): Promise<never> => {
  const { medium, blobs } = source;
  const assumed = medium ? assumedBlobs(medium.medium, bundles) : NO_ASSUMED;
  const lost = absent.find(({ digest }) => !assumed.has(digest));
  if (lost) throw missingBlob(lost.digest, blobs.name);
  if (medium) return refuseMissingBase(agent, medium, absent, source.badPatches);
  throw new FleetError(
    'INTERNAL',
    `blobs are missing in ${blobs.name}, which is not a medium, and none of them is lost`,
  );
};

/** A registry leaves out nothing. */
const NO_ASSUMED: ReadonlySet<Digest> = new Set();

const assumedBlobs = (medium: Medium | undefined, bundles: readonly Bundle[]): ReadonlySet<Digest> => {
  const ours = new Set(bundles.map(({ digest }) => digest));
  const listed = medium?.bundles.filter(({ digest }) => ours.has(digest)) ?? [];
  // A bundle that the medium does not list belongs to the previous release, which the store must have.
  const unlisted = bundles.filter(({ digest }) => !listed.some((bundle) => bundle.digest === digest));
  return new Set([
    ...listed.flatMap((bundle) => bundle.assumed.map(({ digest }) => digest)),
    ...unlisted.flatMap((bundle) => ownBlobs(bundle).map(({ digest }) => digest)),
  ]);
};
