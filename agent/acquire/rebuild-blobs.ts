import type { Bundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Delta } from '#bundles/medium/medium';
import { readPatch } from '#bundles/medium/read-patch';
import type { Agent } from '../agent.ts';
import { imagesOf } from '../images/plan-images.ts';
import { wantedImages } from '../images/wanted-images.ts';
import { checkAborted } from '../journal/boundary.ts';
import { firstOf } from './first-of.ts';
import { checkSpace } from './free-space.ts';
import { isStored } from './is-stored.ts';
import { rebuildBlob } from './rebuild-blob.ts';
import type { Source } from './source.ts';
import { storedBlobs } from './survey-blobs.ts';

/** Patches of the medium for blobs of these bundles that it leaves out. */
export const deltasFor = ({ medium }: Source, bundles: readonly Bundle[]): readonly Delta[] => {
  const ours = new Set(bundles.map(({ digest }) => digest));
  const listed = medium?.medium?.bundles.filter(({ digest }) => ours.has(digest)) ?? [];
  const assumed = new Set(listed.flatMap((bundle) => bundle.assumed.map(({ digest }) => digest)));
  return (medium?.medium?.deltas ?? []).filter(({ digest }) => assumed.has(digest));
};

/**
 * Makes what the medium has patches for out of what is here, into the store, verified by digest like everything there. What
 * cannot be made is simply not here: then it is asked for as a whole. Layers of images stay in the store until their
 * providers have them.
 * @returns the source, with the layers that were made
 * @throws FleetError DISK_FULL, and DIGEST_MISMATCH or MISSING_BLOB for a medium whose patches are not what it says
 */
export const rebuildBlobs = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
): Promise<Source> => {
  const { medium } = source;
  const deltas = medium ? await neededOf(agent, source, bundles) : [];
  if (!medium || deltas.length === 0) return source;
  const { blobs } = agent.state;
  await checkSpace(
    agent,
    deltas.map(({ digest, size }) => ({ digest, size, mediaType: '' })),
    0,
  );
  const made = new Set<Digest>();
  for (const delta of deltas) {
    checkAborted(agent.signal);
    const patch = await readPatch(medium, delta);
    if (await rebuildBlob(agent, delta, patch)) made.add(delta.digest);
    agent.onJournal(`acquire patched ${delta.digest}`);
  }
  const own: BlobSource = {
    name: blobs.name,
    size: async (digest) => (made.has(digest) ? blobs.size(digest) : undefined),
    open: blobs.open,
  };
  return { ...source, blobs: firstOf(source.blobs, own) };
};

/** Those whose blob is not where it belongs. */
const neededOf = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
): Promise<readonly Delta[]> => {
  const deltas = deltasFor(source, bundles);
  if (deltas.length === 0) return [];
  const own = new Set(storedBlobs(bundles).map(({ digest }) => digest));
  const needed: Delta[] = [];
  const layers: Delta[] = [];
  for (const delta of deltas) {
    if (!own.has(delta.digest)) layers.push(delta);
    else if (!(await isStored(agent, delta))) needed.push(delta);
  }
  return [...needed, ...(await lackingLayers(agent, bundles, layers))];
};

/** Layers that a provider needs and does not have. */
const lackingLayers = async (
  agent: Agent,
  bundles: readonly Bundle[],
  layers: readonly Delta[],
): Promise<readonly Delta[]> => {
  const lacking = new Set<Digest>();
  const images = imagesOf(bundles);
  if (layers.length === 0 || images.length === 0) return [];
  const known = [...images, ...(await wantedImages(agent))];
  for (const provider of agent.images) {
    if ((await provider.keeps(images, agent.signal)).size === images.length) continue;
    // Asked for the bases, too: where they are is what `read` wants to know.
    const asked = layers.flatMap(({ digest, base }) => [digest, base]);
    const there = await provider.has(asked, known, agent.signal);
    for (const { digest } of layers) if (!there.has(digest)) lacking.add(digest);
  }
  return layers.filter(({ digest }) => lacking.has(digest));
};
