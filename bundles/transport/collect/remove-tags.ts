import { FleetError, toFleetError } from '../../errors.ts';
import type { Repository } from '../registry/registry.ts';

/**
 * Removes tags sequentially, in the given order.
 * @returns the removed tags
 * @throws FleetError REGISTRY_*
 */
export const removeTags = async (
  repository: Pick<Repository, 'removeTag'>,
  tags: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  for (const tag of tags) {
    signal.throwIfAborted();
    await repository.removeTag(tag, signal).catch((error: unknown) => {
      throw cannotRemove(error);
    });
  }
  return tags;
};

const cannotRemove = (error: unknown): FleetError => {
  const known = toFleetError(error, 'removing tags');
  if (known.code !== 'REGISTRY_REFUSED') return known;
  return new FleetError('REGISTRY_REFUSED', `the registry does not let tags be removed: ${known.message}`, {
    cause: known,
    hint: 'Allow deleting (docker-registry: storage.delete.enabled), or let its own retention rules remove old tags that begin with r-, b-, i- and s-',
  });
};
