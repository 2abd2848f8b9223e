import type { KubernetesApi } from '../api/kubernetes-api.ts';
import type { Wanted } from '../desired/resolve-wanted.ts';
import { removesItself } from '../desired/wanted-object.ts';
import { readLive } from './read-live.ts';

/**
 * Keys of applied objects of a package that do not exist any more, or are being deleted. Hooks and Jobs that are deleted after their end do
 * not count. @throws FleetError API_*, ABORTED
 */
export const findGone = async (
  api: KubernetesApi,
  { byKey }: Wanted,
  applied: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const objects = [...new Set(applied)]
    .flatMap((key) => byKey.get(key) ?? [])
    .filter((wanted) => wanted.policy.apply !== 'ignore' && !removesItself(wanted));
  const unread = new Set<string>();
  const live = await readLive(api, objects, signal, {
    onUnread: (key) => unread.add(key),
    metadataOnly: () => true,
  });
  return objects
    .map(({ key }) => key)
    .filter((key) => {
      const found = live.get(key);
      return !unread.has(key) && (!found || found.metadata.deletionTimestamp !== undefined);
    });
};
