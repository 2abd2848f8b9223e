import { closureFiles } from '#bundles/formats/bundle/closure-files';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Bundle, ownBlobs } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { Agent } from '../../store/agent.ts';
import { type ImagePlan, imagesOf, planImages } from '../../images/plan-images.ts';
import { wantedImages } from '../../images/wanted-images.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import type { Source } from './source.ts';

/** The blobs that bundles need, by where they are: store, provider or source. */
export type Survey = {
  /** Blobs to copy into the store. */
  readonly copy: readonly Descriptor[];
  /** Blobs, image blobs included, that are neither here nor in the source. */
  readonly absent: readonly Descriptor[];
  /** Bundles that the source has, complete or in part; the others belong to the previous release. */
  readonly fresh: readonly Bundle[];
  readonly plan: ImagePlan;
};

/** @param isHere checks the store's copy of a blob, by presence or by content */
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

/** The own blobs of bundles, and the files of their closures that are not images. */
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
