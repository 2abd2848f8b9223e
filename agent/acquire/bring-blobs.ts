import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { missingBlob, verified } from '#bundles/layout/verified';
import type { BlobRef, Medium } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { checkImageSpace } from '../images/check-image-space.ts';
import { isImage } from '../images/image-blobs.ts';
import { imagesOf, planImages } from '../images/plan-images.ts';
import { wantedImages } from '../images/wanted-images.ts';
import { checkAborted } from '../journal/boundary.ts';
import { readPackages } from '../store/packages.ts';
import { savePull } from '../store/pull.ts';
import { checkSpace } from './free-space.ts';
import { refuseMissingBase } from './missing-base.ts';
import type { Source } from './source.ts';

/** A stick reads best from its beginning to its end; a registry is mostly waited for. */
const REQUESTS_AT_ONCE = 4;

/** What became of the images. */
export type BroughtImages = {
  /** Images that a provider did not have. */
  readonly brought: number;
  /** Images that stayed where they are: nothing is configured that keeps images here. */
  readonly left: number;
};

/**
 * Brings what a bundle needs: exactly its signed blobs, each verified while it is written. Images go straight to those who
 * keep them here, and not into the store. What a delta leaves out must be here already: own blobs are verified, images
 * are asked for at the providers. All of it is in place when this ends, so a release may be accepted; killed before,
 * doing it again mends it.
 * @throws FleetError MISSING_BASE, MISSING_BLOB, DISK_FULL, DIGEST_MISMATCH, SIZE_MISMATCH, and of the providers
 */
export const bringBlobs = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
): Promise<BroughtImages> => {
  const stored = storedBlobs(bundles);
  // Before the look at what is here: what is found must still be there at the end.
  savePull(
    agent.state,
    stored.map(({ digest }) => digest),
  );
  const copy: Descriptor[] = [];
  const absent: Descriptor[] = [];
  for (const blob of stored) {
    checkAborted(agent.signal);
    if (await isStored(agent, blob)) continue;
    const there = (await source.blobs.size(blob.digest)) !== undefined;
    (there ? copy : absent).push(blob);
  }
  const images = imagesOf(await offered(source, bundles));
  const plan = await planImages(agent.images, images, source.blobs, () => wantedImages(agent), agent.signal);
  absent.push(...plan.absent);
  if (absent.length > 0) await refuseAbsent(agent, source, bundles, absent);
  const installed = readPackages(agent.state).length > 0;
  const demanded = installed ? 0 : Math.max(0, ...bundles.map((it) => it.config.requirements.diskBytes ?? 0));
  await checkSpace(agent, copy, demanded);
  await checkImageSpace(agent, plan.tasks, copy);
  const atOnce = source.medium ? 1 : REQUESTS_AT_ONCE;
  const bring = async ({ digest, size }: Descriptor): Promise<void> => {
    // One that fails lets the others under way come to their end: what is whole is not fetched again.
    await bringBlob(agent, source, { digest, size });
    agent.onJournal(`acquire ${digest}`);
  };
  await inParallel(copy, atOnce, bring, agent.signal).catch((error: unknown) => {
    checkAborted(agent.signal);
    throw error;
  });
  for (const { provider, image } of plan.tasks) {
    checkAborted(agent.signal);
    await provider.bring(image, source.blobs, agent.signal);
    agent.onJournal(`acquire image ${image.digest}`);
  }
  return { brought: new Set(plan.tasks.map(({ image }) => image.digest)).size, left: plan.left };
};

/** The bundles that the source brings, whole or in part; the others are those of the release before. */
const offered = async ({ medium, blobs }: Source, bundles: readonly Bundle[]): Promise<readonly Bundle[]> => {
  const listed = new Set(medium?.medium?.bundles.map(({ digest }) => digest));
  const here: Bundle[] = [];
  for (const bundle of bundles) {
    if (listed.has(bundle.digest) || (await blobs.size(bundle.digest)) !== undefined) here.push(bundle);
  }
  return here;
};

/** The store checks what it is given; which of the two is damaged, only another look at the medium can tell. */
const bringBlob = async (
  { state, signal }: Agent,
  { blobs }: Source,
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
      hint: 'Try again; if it stays, take another stick, or look after the disks of the registry',
      cause: error,
    });
  }
};

/** The bundle's own blobs, and the files of its closure that are no images. */
const storedBlobs = (bundles: readonly Bundle[]): readonly Descriptor[] => {
  const wanted = new Map<Digest, Descriptor>();
  for (const bundle of bundles) {
    for (const blob of ownBlobs(bundle)) wanted.set(blob.digest, blob);
    if (bundle.kind === 'host') continue;
    for (const { digest, size, mediaType } of bundle.config.closure.filter((entry) => !isImage(entry)))
      wanted.set(digest, { digest, size, mediaType });
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
  source: Source,
  bundles: readonly Bundle[],
  absent: readonly Descriptor[],
): Promise<never> => {
  const { medium, blobs } = source;
  const assumed = medium ? assumedBlobs(medium.medium, bundles) : NOTHING;
  const lost = absent.find(({ digest }) => !assumed.has(digest));
  if (lost) throw missingBlob(lost.digest, blobs.name);
  if (medium) return refuseMissingBase(agent, medium, absent);
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
