import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { checkImages } from '#bundles/trust/images/check-images';
import type { Agent } from '../store/agent.ts';
import { firstOf } from '#bundles/formats/layout/first-of';

/**
 * Checks the images of bundles against the policies of the bundles and of this machine, using only the evidence in the closure.
 * Evidence that a delta leaves out is in the store. Rejects with the errors of `checkImages`.
 */
export const checkSignatures = async (
  { state, imagePolicy = [], signal }: Pick<Agent, 'state' | 'imagePolicy' | 'signal'>,
  source: BlobSource,
  bundles: readonly Bundle[],
): Promise<void> => {
  const either = firstOf(source, state.blobs);
  for (const { config } of bundles) await checkImages(either, config, imagePolicy, signal);
};
