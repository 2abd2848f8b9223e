import { closureFiles } from '#bundles/bundle/closure-files';
import { imageBlobs } from '#bundles/bundle/image-blobs';
import type { Descriptor } from '#bundles/bundle/manifest';
import type { Bundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { MediumParts, OpenMedium } from '#bundles/medium/medium';
import type { Agent } from '../agent.ts';
import { type BroughtImages, bringSurveyed } from './bring-surveyed.ts';
import { checkSignatures } from './check-signatures.ts';
import { isStored } from './is-stored.ts';
import { DAMAGE, keepParts } from './keep-parts.ts';
import { partsWith } from './parts-with.ts';
import { rebuildBlobs } from './rebuild-blobs.ts';
import { refuseAbsent } from './refuse-absent.ts';
import type { Source } from './source.ts';
import { type Survey, storedBlobs, surveyBlobs } from './survey-blobs.ts';

export type SetSource = Source & { readonly medium: OpenMedium; readonly parts: MediumParts };

/**
 * As bringBlobs, from a set whose parts may come on several sticks, one after the other and in any order: what is here of it
 * is kept until the last one that has something for this agent.
 * @throws FleetError PARTS_MISSING, and that of a damaged part; what else was here is kept
 */
export const bringSet = async (
  agent: Agent,
  given: SetSource,
  bundles: readonly Bundle[],
  sealed: readonly Digest[],
): Promise<BroughtImages> => {
  const orKeepTheRest = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (DAMAGE.some((code) => isFleetError(error, code))) await keepTheRest(agent, given, bundles, sealed);
      throw error;
    }
  };
  // What a patch makes is kept, and never the patch: no signature names that.
  const { badPatches } = await orKeepTheRest(rebuildBlobs(agent, given, bundles));
  const source: SetSource = { ...given, badPatches };
  // Only asks what there is: what sticks before this left here is read through once, when all of it is here.
  await keepUnlessWhole(agent, source, bundles, sealed, await surveyBlobs(agent, source, bundles, hasIt));
  const survey = await surveyBlobs(agent, source, bundles, isStored);
  await keepUnlessWhole(agent, source, bundles, sealed, survey);
  return orKeepTheRest(bringSurveyed(agent, source, bundles, survey));
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
  const isComing = isOnItsWay(source, bundles);
  const [later, lost] = [absent.filter(isComing), absent.filter((blob) => !isComing(blob))];
  if (lost.length > 0) await refuseAbsent(agent, source, bundles, lost);
  if (later.length === 0) return;
  const awaited = new Set(later.map(({ digest }) => digest));
  const vouching = fresh.flatMap(({ config }) => closureFiles(config));
  // Gigabytes are not gathered for what will be refused at the end.
  if (!vouching.some(({ digest }) => awaited.has(digest))) await checkSignatures(agent, source.blobs, fresh);
  const wanted = await wantedOf(agent, source, bundles, plan);
  await keepParts(agent, medium, parts, { wanted, later, sealed, partsWith: partsWith(source, bundles) });
  // No part is known to have it: not accepted without it.
  await refuseAbsent(agent, source, bundles, later);
};

/** Something could not be read: what else is here is kept, and what a failing disk has changed makes room for a good copy. */
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
  const later = absent.filter(isOnItsWay(source, bundles));
  await keepParts(agent, medium, parts, { wanted, later, sealed, partsWith: partsWith(source, bundles) });
};

const isOnItsWay = (
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
