import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Agent } from '../store/agent.ts';
import { heldBundles } from '../store/bundles.ts';
import { imagesOf } from './plan-images.ts';

/**
 * Digests of bundles that can be the base of a delta: the store has their own blobs, and every provider still has their
 * images, some of which the kubelet may have collected. Without a provider, a bundle with images does not count; nor does one
 * that cannot be read or whose provider does not answer. Sorted.
 */
export const heldWithImages = async (
  agent: Pick<Agent, 'state' | 'images' | 'signal'>,
): Promise<readonly Digest[]> => {
  const { state, images: providers, signal } = agent;
  const held = await heldBundles(state);
  const complete: Digest[] = [];
  for (const digest of held) {
    if (await everyProviderKeeps(digest)) complete.push(digest);
  }
  return complete;

  async function everyProviderKeeps(digest: Digest): Promise<boolean> {
    try {
      const images = imagesOf([await readBundle(state.blobs, digest, signal)]);
      if (images.length === 0) return true;
      if (providers.length === 0) return false;
      for (const provider of providers) {
        if ((await provider.keeps(images, signal)).size < images.length) return false;
      }
      return true;
    } catch (error) {
      if (['INTERNAL', 'ABORTED'].includes(toFleetError(error).code)) throw error;
      return false;
    }
  }
};
