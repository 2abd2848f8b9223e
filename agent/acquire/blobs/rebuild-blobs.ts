import { defined } from '#bundles/defined';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Delta, OpenMedium } from '#bundles/formats/medium/medium';
import { readPatch } from '#bundles/formats/medium/read-patch';
import type { Agent } from '../../store/agent.ts';
import { imagesOf } from '../../images/plan-images.ts';
import { wantedImages } from '../../images/wanted-images.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { firstOf } from '#bundles/formats/layout/first-of';
import { isStored } from './is-stored.ts';
import { rebuildBlob } from './rebuild-blob.ts';
import type { Source } from './source.ts';
import { checkSpaceForPatches } from './space-for-patches.ts';
import { storedBlobs } from './survey-blobs.ts';

/**
 * Patches are unsigned, and a wrong one can take as long as the longest valid one. After this many wrong patches, or this
 * many bytes of their blobs, the others are not tried.
 */
const MAX_BAD_PATCHES = 3;
const MAX_BAD_PATCH_BYTES = 32 << 20;

/** Patches on the medium for blobs that it leaves out of these bundles. */
export const deltasFor = ({ medium }: Source, bundles: readonly Bundle[]): readonly Delta[] => {
  const ours = new Set(bundles.map(({ digest }) => digest));
  const listed = medium?.medium?.bundles.filter(({ digest }) => ours.has(digest)) ?? [];
  const assumed = new Set(listed.flatMap((bundle) => bundle.assumed.map(({ digest }) => digest)));
  return (medium?.medium?.deltas ?? []).filter(({ digest }) => assumed.has(digest));
};

/**
 * Rebuilds blobs from the medium's patches and stores them, verified by digest. A blob that cannot be rebuilt counts as absent
 * and is requested whole. Image layers stay in the store until their providers have them.
 * @returns the source extended by the rebuilt blobs, with the count of wrong patches
 * @throws FleetError DISK_FULL, and DIGEST_MISMATCH or MISSING_BLOB if a patch does not match the table of contents
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
  const made = new Set<Digest>();
  const todo: Delta[] = [];
  for (const delta of deltas) {
    // A previous medium may have had the patch.
    if (await isStored(agent, delta)) made.add(delta.digest);
    else if (await isPresent(medium, delta)) todo.push(delta);
  }
  await checkSpaceForPatches(agent, medium, todo);
  const rejected: Delta[] = [];
  let tried = 0;
  for (const delta of todo) {
    checkAborted(agent.signal);
    if (rejected.length >= MAX_BAD_PATCHES || sizeOf(rejected) > MAX_BAD_PATCH_BYTES) break;
    tried += 1;
    const rebuilt = await rebuildBlob(agent, delta, await readPatch(medium, delta));
    if (rebuilt === 'made') made.add(delta.digest);
    if (rebuilt === 'lies') rejected.push(delta);
    agent.onJournal(`acquire patched ${delta.digest}`);
  }
  const own: BlobSource = {
    name: blobs.name,
    size: async (digest) => (made.has(digest) ? blobs.size(digest) : undefined),
    open: blobs.open,
  };
  const badPatches = { failed: rejected.length, untried: todo.length - tried };
  return {
    ...source,
    blobs: firstOf(source.blobs, own),
    ...defined({ badPatches: rejected.length > 0 ? badPatches : undefined }),
  };
};

const sizeOf = (deltas: readonly Delta[]): number => deltas.reduce((sum, { size }) => sum + size, 0);

/** False only for a set whose part with this patch is absent. */
const isPresent = async ({ parts, blobs }: OpenMedium, { patch }: Delta): Promise<boolean> =>
  parts === undefined || (await blobs.size(patch.digest)) !== undefined;

/** Deltas whose blob is missing here. Only for blobs that the signed bundles and their images name, at the signed size. */
const neededOf = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
): Promise<readonly Delta[]> => {
  const deltas = deltasFor(source, bundles);
  if (deltas.length === 0) return [];
  const own = sizesOf(storedBlobs(bundles));
  const needed: Delta[] = [];
  for (const delta of deltas)
    if (own.get(delta.digest) === delta.size && !(await isStored(agent, delta))) needed.push(delta);
  const layers = deltas.filter(({ digest }) => !own.has(digest));
  return [...needed, ...(await lackingLayers(agent, source, bundles, layers))];
};

const sizesOf = (blobs: readonly Descriptor[]): ReadonlyMap<Digest, number> =>
  new Map(blobs.map(({ digest, size }) => [digest, size]));

/** Deltas of image layers that a provider lacks. */
const lackingLayers = async (
  agent: Agent,
  source: Source,
  bundles: readonly Bundle[],
  layers: readonly Delta[],
): Promise<readonly Delta[]> => {
  const lacking = new Set<Digest>();
  const images = imagesOf(bundles);
  if (layers.length === 0 || images.length === 0) return [];
  const known = [...images, ...(await wantedImages(agent))];
  for (const provider of agent.images) {
    const kept = await provider.keeps(images, agent.signal);
    const sizes = new Map<Digest, number>();
    for (const image of images.filter(({ digest }) => !kept.has(digest)))
      for (const { digest, size } of await imageBlobs(source.blobs, image, agent.signal))
        sizes.set(digest, size);
    const named = layers.filter(({ digest, size }) => sizes.get(digest) === size);
    if (named.length === 0) continue;
    // The query includes the bases: `read` can read only blobs that `has` found.
    const asked = named.flatMap(({ digest, base }) => [digest, base]);
    const there = await provider.has(asked, known, agent.signal);
    for (const { digest } of named) if (!there.has(digest)) lacking.add(digest);
  }
  return layers.filter(({ digest }) => lacking.has(digest));
};
