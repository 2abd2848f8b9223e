import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { missingBlob } from '#bundles/layout/verified';
import type { Medium } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { refuseMissingBase } from './missing-base.ts';
import type { Source } from './source.ts';

/** Left out on purpose, or lost on the way? The medium's table of contents says which it meant. @throws FleetError MISSING_BLOB, MISSING_BASE, always */
export const refuseAbsent = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  absent: readonly Descriptor[],
): Promise<never> => {
  const { medium, blobs } = source;
  const assumed = medium ? assumedBlobs(medium.medium, bundles) : NOTHING;
  const lost = absent.find(({ digest }) => !assumed.has(digest));
  if (lost) throw missingBlob(lost.digest, blobs.name);
  if (medium) return refuseMissingBase(agent, medium, absent, source.badPatches);
  throw new FleetError('INTERNAL', `nothing is assumed of ${blobs.name}, and nothing is lost there`);
};

/** A registry leaves out nothing. */
const NOTHING: ReadonlySet<Digest> = new Set();

const assumedBlobs = (medium: Medium | undefined, bundles: readonly Bundle[]): ReadonlySet<Digest> => {
  const ours = new Set(bundles.map(({ digest }) => digest));
  const listed = medium?.bundles.filter(({ digest }) => ours.has(digest)) ?? [];
  // A bundle that the medium does not list at all is one that the store is to have: the release before.
  const unlisted = bundles.filter(({ digest }) => !listed.some((bundle) => bundle.digest === digest));
  return new Set([
    ...listed.flatMap((bundle) => bundle.assumed.map(({ digest }) => digest)),
    ...unlisted.flatMap((bundle) => ownBlobs(bundle).map(({ digest }) => digest)),
  ]);
};
