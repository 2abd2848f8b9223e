import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { fetchBlobs } from '../../../agent/acquire/blobs/fetch-blobs.ts';
import { heldBundles, saveBundle } from '../../../agent/store/bundles.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { forgetPull } from '../../../agent/store/pull.ts';
import { policyOf, signWithBundle, withAttachments } from '../../bundles/trust/images/sign-image.ts';
import { newKey } from '../../bundles/trust/root/new-key.ts';
import { verdict } from '../../bundles/verdict.ts';
import { type Blobs, closureEntry, putImage, putLayer, sourceOf } from '../images/image-fixture.ts';
import { kubernetesBundle } from '../images/kubernetes-bundle.ts';
import { memoryProvider } from '../images/memory-provider.ts';
import { createWorld, storedBlobs, type World } from '../world.ts';

let world: World;
let blobs: Blobs;
let bundle: Bundle;
let evidence: readonly Digest[];
beforeEach(async () => {
  world = await createWorld();
  blobs = new Map();
  const key = newKey();
  const manifest = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  const image = closureEntry(manifest, 'registry.example/team/app');
  const closure: readonly ClosureEntry[] = withAttachments(
    blobs,
    image,
    await signWithBundle(blobs, manifest, key),
  );
  evidence = closure.slice(1).map(({ digest }) => digest);
  const made = await kubernetesBundle(blobs, closure);
  bundle = { ...made, config: { ...made.config, imagePolicy: [policyOf(key)], critical: ['imagePolicy'] } };
});
afterEach(() => world[Symbol.asyncDispose]());

const agent = () => ({ ...world.agent, images: [memoryProvider()] });

/** A stick that leaves these out, and has not got them either. */
const deltaWithout = (assumed: readonly Digest[]) => {
  const contents = {
    bundles: [
      { digest: bundle.digest, size: bundle.size, assumed: assumed.map((digest) => ({ digest, size: 1 })) },
    ],
  } as unknown as Medium;
  const left = new Map([...blobs].filter(([digest]) => !assumed.includes(digest)));
  const source = sourceOf(left);
  const medium = {
    path: 'stick',
    form: 'tar',
    roots: [],
    medium: contents,
    blobs: source,
  } as Partial<OpenMedium>;
  return { blobs: source, medium: medium as OpenMedium };
};

describe("the signatures of a bundle's images", () => {
  it('are stored with the bundle, which is incomplete without them', async () => {
    const { state } = world.agent;
    await fetchBlobs(agent(), { blobs: sourceOf(blobs) }, [bundle]);
    saveBundle(state, bundle);
    forgetPull(state);
    const removed = await collectGarbage(state);
    expect(evidence.filter((digest) => removed.includes(digest))).toEqual([]);
    const stored = await storedBlobs(state);
    for (const digest of evidence) expect(stored).toContain(digest);
    // Its layer went: no package is made of it.
    expect(removed).toEqual(bundle.manifest.layers.map(({ digest }) => digest));
  });

  it('must be held for a delta to leave them out', async () => {
    const { state } = world.agent;
    await fetchBlobs(agent(), { blobs: sourceOf(blobs) }, [bundle]);
    saveBundle(state, bundle);
    expect(await heldBundles(state)).toEqual([bundle.digest]);
    expect(await verdict(() => fetchBlobs(agent(), deltaWithout(evidence), [bundle]))).toBe('ACCEPT');
    await state.blobs.remove(evidence[0] as Digest);
    expect(await heldBundles(state)).toEqual([]);
    expect(await verdict(() => fetchBlobs(agent(), deltaWithout(evidence), [bundle]))).toBe('MISSING_BASE');
  });
});
