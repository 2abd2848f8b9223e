import {
  coversPath,
  isAgentPath,
  AGENT_OWNED_PATHS,
  SECRETS_IN_MEMORY,
} from '#bundles/formats/bounds/reserved-paths';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { Places } from '../live/read-places.ts';

const MAX_NAMED = 5;

/**
 * Refuses a package that would write to the agent's own files by another name of them: checkBounds refuses their own names.
 * @throws FleetError OUT_OF_BOUNDS
 */
export const refuseOwnPlaces = async (
  { root, state }: Pick<HostTargetOptions, 'root' | 'state'>,
  { assignment, directories, files, secrets }: Wanted,
  places: Places,
): Promise<void> => {
  // With another root the state directory may be below it, under a path that checkBounds does not know.
  const below = coversPath(root, state) ? state.slice(root.length) : undefined;
  const stateHere = root === '/' ? state : below;
  const inState = stateHere === undefined ? undefined : await places.folder(stateHere);
  const own = [
    ...(await Promise.all(AGENT_OWNED_PATHS.map((path) => places.folder(path)))),
    ...(inState === undefined ? [] : [inState]),
  ];
  const inMemory = await places.folder(SECRETS_IN_MEMORY);
  const isOwn = (path: string): boolean =>
    isAgentPath(path) ||
    (own.some((above) => coversPath(above, path)) && (path === inMemory || !coversPath(inMemory, path)));
  const found = [...directories, ...files.values(), ...secrets.values()].filter(
    ({ path, named }) =>
      (path !== named && isOwn(path)) || (root !== '/' && inState !== undefined && coversPath(inState, path)),
  );
  if (found.length === 0) return;
  const names = found.map(({ path, named }) =>
    path === named
      ? `${path} belongs to the agent itself`
      : `${named} is ${path} on this host, which belongs to the agent itself`,
  );
  throw new FleetError('OUT_OF_BOUNDS', `${assignment}: ${nameSome(names, MAX_NAMED)}`, {
    subject: assignment,
    hint: 'Choose another path in the package, or change the link or mount of the host; nothing was written',
  });
};
