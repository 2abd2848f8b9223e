import { isFleetError } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import type { ReadScope } from '../../people/sight.ts';
import type { Visible } from '../../people/visible.ts';
import { openReleases, type Releases } from './read-releases.ts';

/**
 * The assignments that a limited reader may see. The workspace of an assignment is the one that the releases in the layout name, so an
 * assignment of which no release is left is visible only to readers of the whole environment.
 */
export const resolveSight = async (
  hub: Pick<Hub, 'keys' | 'layout'>,
  { whole, parts, gates }: ReadScope,
): Promise<Visible> => {
  const resolved = new Map<string, Set<string>>();
  if (parts.length === 0) return { whole, parts: resolved, gates };
  const releases = await openReleases(hub);
  for (const channel of releases.channels()) {
    const { environment } = channel;
    const workspaces = parts
      .filter((part) => part.environment === '*' || part.environment === environment)
      .map(({ workspace }) => workspace);
    if (whole.has(environment) || workspaces.length === 0) continue;
    const assignments = resolved.get(environment) ?? new Set<string>();
    resolved.set(environment, assignments);
    for (const id of await assignmentsOf(releases, channel, workspaces)) assignments.add(id);
  }
  return { whole, parts: resolved, gates };
};

/** A channel whose releases cannot be verified shows nothing of its workspaces. */
const assignmentsOf = async (
  releases: Releases,
  channel: Channel,
  workspaces: readonly string[],
): Promise<readonly string[]> => {
  try {
    return (await releases.of(channel)).flatMap(({ packages }) =>
      [...packages].flatMap(([id, { workspace }]) =>
        workspace !== null && workspaces.includes(workspace) ? [id] : [],
      ),
    );
  } catch (error) {
    if (isFleetError(error)) return [];
    throw error;
  }
};
