import type { Bundle } from '#bundles/bundle/read-bundle';
import type { BlobSource } from '#bundles/layout/blobs';
import { checkImages } from '#bundles/signatures/check-images';
import type { Agent } from '../agent.ts';
import { firstOf } from './first-of.ts';

/**
 * Holds the images of bundles to the policies that the bundles carry and to those of this machine, from the evidence in the
 * closure alone. What a delta leaves out is in the store. @throws FleetError as checkImages
 */
export const checkSignatures = async (
  { state, imagePolicy = [], signal }: Pick<Agent, 'state' | 'imagePolicy' | 'signal'>,
  source: BlobSource,
  bundles: readonly Bundle[],
): Promise<void> => {
  const either = firstOf(source, state.blobs);
  for (const { config } of bundles) await checkImages(either, config, imagePolicy, signal);
};
