import { closureFiles } from '#bundles/bundle/closure-files';
import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { Agent } from '../agent.ts';
import { type ImagePlan, imagesOf, planImages } from '../images/plan-images.ts';
import { wantedImages } from '../images/wanted-images.ts';
import { checkAborted } from '../journal/boundary.ts';
import type { Source } from './source.ts';

/** What bundles need, against what is here and what the source has. */
export type Survey = {
  /** To be copied into the store. */
  readonly copy: readonly Descriptor[];
  /** Neither here nor in the source, images' blobs too. */
  readonly absent: readonly Descriptor[];
  /** The bundles that the source brings, whole or in part; the others are those of the release before. */
  readonly fresh: readonly Bundle[];
  readonly plan: ImagePlan;
};

/** @param isHere how closely to look at what the store has */
export const surveyBlobs = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  isHere: (agent: Agent, blob: Descriptor) => Promise<boolean>,
): Promise<Survey> => {
  const copy: Descriptor[] = [];
  const absent: Descriptor[] = [];
  for (const blob of storedBlobs(bundles)) {
    checkAborted(agent.signal);
    if (await isHere(agent, blob)) continue;
    const there = (await source.blobs.size(blob.digest)) !== undefined;
    (there ? copy : absent).push(blob);
  }
  const fresh = await offered(source, bundles);
  const images = imagesOf(fresh);
  const plan = await planImages(agent.images, images, source.blobs, () => wantedImages(agent), agent.signal);
  return { copy, absent: [...absent, ...plan.absent], fresh, plan };
};

/** The bundle's own blobs, and the files of its closure that are no images. */
export const storedBlobs = (bundles: readonly Bundle[]): readonly Descriptor[] => {
  const wanted = new Map<Digest, Descriptor>();
  for (const bundle of bundles) {
    for (const blob of ownBlobs(bundle)) wanted.set(blob.digest, blob);
    for (const file of closureFiles(bundle.config)) wanted.set(file.digest, file);
  }
  return [...wanted.values()];
};

const offered = async ({ medium, blobs }: Source, bundles: readonly Bundle[]): Promise<readonly Bundle[]> => {
  const listed = new Set(medium?.medium?.bundles.map(({ digest }) => digest));
  const here: Bundle[] = [];
  for (const bundle of bundles) {
    if (listed.has(bundle.digest) || (await blobs.size(bundle.digest)) !== undefined) here.push(bundle);
  }
  return here;
};
