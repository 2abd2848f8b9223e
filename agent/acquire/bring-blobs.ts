import { closureBlobs } from '#bundles/bundle/closure-blobs';
import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { missingBlob, verified } from '#bundles/layout/verified';
import type { BlobRef, Medium, OpenMedium } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { checkAborted } from '../journal/boundary.ts';
import { readPackages } from '../store/packages.ts';
import { checkSpace } from './free-space.ts';
import { refuseMissingBase } from './missing-base.ts';

/**
 * Brings what a bundle needs into the store: exactly its signed blobs, each verified while it is written. What a delta
 * leaves out must be in the store already, and is verified there.
 * @throws FleetError MISSING_BASE, MISSING_BLOB, DISK_FULL, DIGEST_MISMATCH, SIZE_MISMATCH
 */
export const bringBlobs = async (
  agent: Agent,
  medium: OpenMedium,
  bundles: readonly Bundle[],
): Promise<void> => {
  const copy: Descriptor[] = [];
  const absent: Descriptor[] = [];
  for (const blob of await wantedBlobs(agent, medium, bundles)) {
    checkAborted(agent.signal);
    if (await isStored(agent, blob)) continue;
    const there = (await medium.blobs.size(blob.digest)) !== undefined;
    (there ? copy : absent).push(blob);
  }
  if (absent.length > 0) await refuseAbsent(agent, medium, bundles, absent);
  const installed = readPackages(agent.state).length > 0;
  const demanded = installed ? 0 : Math.max(0, ...bundles.map((it) => it.config.requirements.diskBytes ?? 0));
  await checkSpace(agent, copy, demanded);
  for (const { digest, size } of copy) {
    checkAborted(agent.signal);
    await bringBlob(agent, medium, { digest, size });
    agent.onJournal(`acquire ${digest}`);
  }
};

/** The store checks what it is given; which of the two is damaged, only another look at the medium can tell. */
const bringBlob = async (
  { state, signal }: Agent,
  { blobs }: OpenMedium,
  { digest, size }: BlobRef,
): Promise<void> => {
  try {
    await state.blobs.write(digest, size, await blobs.open(digest, signal), signal);
  } catch (error) {
    if (!isFleetError(error, 'DIGEST_MISMATCH') && !isFleetError(error, 'SIZE_MISMATCH')) throw error;
    for await (const chunk of verified(digest, size, await blobs.open(digest, signal), blobs.name))
      void chunk;
    throw new FleetError('IO', `${blobs.name} gave other bytes the first time than the second`, {
      subject: digest,
      hint: 'Try again; if it stays, take another stick',
      cause: error,
    });
  }
};

/** Host: the bundle's own blobs. Kubernetes: its images too, for there the agent is who brings them in. */
const wantedBlobs = async (
  agent: Agent,
  medium: OpenMedium,
  bundles: readonly Bundle[],
): Promise<readonly Descriptor[]> => {
  const wanted = new Map<Digest, Descriptor>();
  for (const bundle of bundles) {
    const blobs =
      bundle.kind === 'host' ? ownBlobs(bundle) : await closureBlobs(medium.blobs, bundle, agent.signal);
    for (const blob of blobs) wanted.set(blob.digest, blob);
  }
  return [...wanted.values()];
};

/** Here and sound? A copy that a failing disk has changed is removed, so that a good one can take its place. */
const isStored = async ({ state, signal }: Agent, { digest, size }: Descriptor): Promise<boolean> => {
  const { blobs } = state;
  if ((await blobs.size(digest)) === undefined) return false;
  try {
    for await (const chunk of verified(digest, size, await blobs.open(digest, signal), blobs.name))
      void chunk;
    return true;
  } catch (error) {
    if (!isFleetError(error, 'DIGEST_MISMATCH') && !isFleetError(error, 'SIZE_MISMATCH')) throw error;
    await blobs.remove(digest);
    return false;
  }
};

/** Left out on purpose, or lost on the way? The medium's table of contents says which it meant. */
const refuseAbsent = async (
  agent: Agent,
  medium: OpenMedium,
  bundles: readonly Bundle[],
  absent: readonly Descriptor[],
): Promise<never> => {
  const assumed = assumedBlobs(medium.medium, bundles);
  const lost = absent.find(({ digest }) => !assumed.has(digest));
  if (lost) throw missingBlob(lost.digest, medium.blobs.name);
  return refuseMissingBase(agent, medium, absent);
};

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
