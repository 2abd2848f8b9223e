import { compareBytes } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { wantedImages } from './wanted-images.ts';

/**
 * Lets providers collect the images that no package needs. Only what we brought, and nothing is removed from under a
 * container. What fails is tried again next time: an import that succeeded does not fail for what could not be tidied up.
 * @returns the names that were let go, sorted
 */
export const letGoImages = async (
  agent: Pick<Agent, 'state' | 'images' | 'signal'>,
): Promise<readonly string[]> => {
  if (agent.images.length === 0) return [];
  const gone = new Set<string>();
  try {
    const wanted = await wantedImages(agent);
    for (const provider of agent.images) {
      for (const name of await provider.letGo(wanted, agent.signal)) gone.add(name);
    }
  } catch (error) {
    if (['INTERNAL', 'ABORTED'].includes(toFleetError(error).code)) throw error;
  }
  return [...gone].toSorted(compareBytes);
};
