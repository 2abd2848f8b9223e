import { closureFiles } from '#bundles/formats/bundle/closure-files';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { MediumParts, OpenMedium } from '#bundles/formats/medium/medium';
import type { Agent } from '../../store/agent.ts';
import { type FetchedImages, fetchSurveyed } from './fetch-surveyed.ts';
import { checkSignatures } from '../check-signatures.ts';
import { isStored } from './is-stored.ts';
import { DAMAGE, keepParts } from './keep-parts.ts';
import { deltasFor, rebuildBlobs } from './rebuild-blobs.ts';
import { refuseAbsent } from './refuse-absent.ts';
import type { Source } from './source.ts';
import { type Survey, storedBlobs, surveyBlobs } from './survey-blobs.ts';

export type SetSource = Source & { readonly medium: OpenMedium; readonly parts: MediumParts };

/**
 * As fetchBlobs, for a set whose parts may arrive on several volumes, one at a time and in any order. Blobs of the set are kept
 * in the store until the last needed volume is imported.
 * @throws FleetError PARTS_MISSING, or the error of a damaged part; everything else that could be read is kept
 */
export const fetchSet = async (
  agent: Agent,
  given: SetSource,
  bundles: readonly Bundle[],
  sealed: readonly Digest[],
): Promise<FetchedImages> => {
  const orKeepTheRest = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (DAMAGE.some((code) => isFleetError(error, code))) await keepTheRest(agent, given, bundles, sealed);
      throw error;
    }
  };
  // The result of a patch is kept, never the patch itself, which no signature covers.
  const { badPatches } = await orKeepTheRest(rebuildBlobs(agent, given, bundles));
  const source: SetSource = { ...given, badPatches };
  // Checks presence only. Blobs of earlier volumes are read and verified once, when the set is complete.
  await keepUnlessWhole(agent, source, bundles, sealed, await surveyBlobs(agent, source, bundles, hasIt));
  const survey = await surveyBlobs(agent, source, bundles, isStored);
  await keepUnlessWhole(agent, source, bundles, sealed, survey);
  return orKeepTheRest(fetchSurveyed(agent, source, bundles, survey));
};

const hasIt = async ({ state }: Agent, { digest }: Descriptor): Promise<boolean> =>
  (await state.blobs.size(digest)) !== undefined;

const keepUnlessWhole = async (
  agent: Agent,
  source: SetSource,
  bundles: readonly Bundle[],
  sealed: readonly Digest[],
  { absent, fresh, plan }: Survey,
): Promise<void> => {
  const { medium, parts } = source;
  const isComing = isStillArriving(source, bundles);
  const [later, lost] = [absent.filter(isComing), absent.filter((blob) => !isComing(blob))];
  if (lost.length > 0) await refuseAbsent(agent, source, bundles, lost);
  if (later.length === 0) return;
  const awaited = new Set(later.map(({ digest }) => digest));
  const vouching = fresh.flatMap(({ config }) => closureFiles(config));
  // Fails early: without valid signatures there is no use in collecting gigabytes.
  if (!vouching.some(({ digest }) => awaited.has(digest))) await checkSignatures(agent, source.blobs, fresh);
  const wanted = await wantedOf(agent, source, bundles, plan);
  await keepParts(agent, medium, parts, { wanted, later, sealed, partsWith: partsWith(source, bundles) });
  // Reached only if no known part has the blobs: the release cannot be accepted without them.
  await refuseAbsent(agent, source, bundles, later);
};

/** Keeps the readable rest of a volume after a read error, and removes damaged copies from the store. */
const keepTheRest = async (
  agent: Agent,
  source: SetSource,
  bundles: readonly Bundle[],
  sealed: readonly Digest[],
): Promise<void> => {
  const { medium, parts } = source;
  const { plan } = await surveyBlobs(agent, source, bundles, hasIt);
  const wanted = await wantedOf(agent, source, bundles, plan);
  const pieces = medium.medium?.chunks.flatMap(({ files }) => files) ?? [];
  for (const blob of [...wanted, ...pieces]) await isStored(agent, blob);
  const { absent } = await surveyBlobs(agent, source, bundles, hasIt);
  const later = absent.filter(isStillArriving(source, bundles));
  await keepParts(agent, medium, parts, { wanted, later, sealed, partsWith: partsWith(source, bundles) });
};

const isStillArriving = (
  source: SetSource,
  bundles: readonly Bundle[],
): ((blob: Pick<Descriptor, 'digest'>) => boolean) => {
  const numbersOf = partsWith(source, bundles);
  return ({ digest }) => numbersOf(digest).some((number) => source.parts.missing.includes(number));
};

const wantedOf = async (
  agent: Agent,
  { blobs }: Source,
  bundles: readonly Bundle[],
  { tasks }: Survey['plan'],
): Promise<readonly Descriptor[]> => {
  const wanted = new Map(storedBlobs(bundles).map((blob) => [blob.digest, blob]));
  const images = new Map(tasks.map(({ image }) => [image.digest, image]));
  for (const image of images.values()) {
    for (const blob of await imageBlobs(blobs, image, agent.signal)) wanted.set(blob.digest, blob);
  }
  return [...wanted.values()];
};

/**
 * Returns the numbers of the parts that hold a blob, or its patch if these bundles leave the blob out. Patches are unsigned: a
 * patch for a blob that is included whole is ignored.
 */
const partsWith = (
  source: Source & { readonly parts: MediumParts },
  bundles: readonly Bundle[],
): ((digest: Digest) => readonly number[]) => {
  const patches = new Map(deltasFor(source, bundles).map(({ digest, patch }) => [digest, patch.digest]));
  return (digest) => source.parts.partOf(patches.get(digest) ?? digest);
};
