import { readBundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { heldBundles } from '../store/bundles.ts';
import { imagesOf } from './plan-images.ts';

/**
 * Bundles that a delta may count on: their own blobs are in the store, and their images are still with every provider. The
 * kubelet may have collected some. Where no provider is configured nobody keeps images, whatever was on the stick: a bundle
 * that has some does not count. Nor does what cannot be read or asked. Sorted.
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
