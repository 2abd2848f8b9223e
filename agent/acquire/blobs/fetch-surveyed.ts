import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import { inParallel } from '#bundles/in-parallel';
import { NO_PROGRESS } from '#cli/progress';
import type { Agent } from '../../store/agent.ts';
import { checkImageSpace } from '../../images/check-image-space.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { readPackages } from '../../store/applied/packages.ts';
import { partialBytes } from '../../store/partial-blobs.ts';
import { checkSignatures } from '../check-signatures.ts';
import { fetchImage } from './fetch-image.ts';
import { copyBlob } from './copy-blob.ts';
import { countedBlobs } from '../../images/counted-blobs.ts';
import { checkSpace } from './free-space.ts';
import type { Source } from './source.ts';
import type { Survey } from './survey-blobs.ts';

/** Concurrent requests to a registry, where latency dominates. A medium is read sequentially. */
const REQUESTS_AT_ONCE = 4;

/** Numbers of images, by result. */
export type FetchedImages = {
  /** Images that were copied to a provider. */
  readonly brought: number;
  /** Images that were not copied, because no provider is configured. */
  readonly left: number;
};

/** Copies surveyed blobs into the store and images to their providers. Requires that the survey found nothing absent. */
export const fetchSurveyed = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  { copy, fresh, plan }: Survey,
): Promise<FetchedImages> => {
  await checkSignatures(agent, source.blobs, fresh);
  const installed = readPackages(agent.state).length > 0;
  const demanded = installed ? 0 : Math.max(0, ...bundles.map((it) => it.config.requirements.diskBytes ?? 0));
  // Bytes of interrupted copies are here already.
  const rest = copy.map(({ digest, size }) => ({
    size: Math.max(0, size - partialBytes(agent.state, digest)),
  }));
  await checkSpace(agent, rest, demanded, `, as the release asks for ${demanded} free bytes at first`);
  await checkImageSpace(agent, plan.tasks, copy);
  const { begin, advance, end } = agent.progress ?? NO_PROGRESS;
  const counted = countedBlobs(source.blobs, advance);
  if (copy.length > 0) begin({ name: 'copying', total: rest.reduce((total, { size }) => total + size, 0) });
  const atOnce = source.medium ? 1 : REQUESTS_AT_ONCE;
  const bring = async ({ digest, size }: Descriptor): Promise<void> => {
    // After a failure the copies under way finish, so that they need not be fetched again.
    await copyBlob(agent, counted, { digest, size });
    agent.onJournal(`acquire ${digest}`);
  };
  await inParallel(copy, atOnce, bring, agent.signal).catch((error: unknown) => {
    checkAborted(agent.signal);
    throw error;
  });
  if (plan.tasks.length > 0) begin({ name: 'bringing images', total: 0 });
  for (const { provider, image } of plan.tasks) {
    checkAborted(agent.signal);
    await fetchImage(agent, { provider, image }, counted);
    agent.onJournal(`acquire image ${image.digest}`);
  }
  end();
  return { brought: new Set(plan.tasks.map(({ image }) => image.digest)).size, left: plan.left };
};
