import { compareBytes } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Agent } from '../store/agent.ts';
import { readPull } from '../store/pull.ts';
import { tryPullLock } from '../store/pull-lock.ts';
import { wantedImages } from './wanted-images.ts';

/**
 * Releases images that no package needs, so that providers can collect them. Only images that this agent brought, and none
 * that a container uses. Errors are ignored until the next call, so that a successful import does not fail in the cleanup. While a release is
 * being pulled it releases nothing: no package refers yet to its images, nor to the documents that prove them.
 * @returns the released names, sorted
 */
export const releaseImages = async (
  agent: Pick<Agent, 'state' | 'images' | 'signal'>,
): Promise<readonly string[]> => {
  if (agent.images.length === 0) return [];
  using lock = tryPullLock(agent.state.directory);
  if (!lock || readPull(agent.state).length > 0) return [];
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
