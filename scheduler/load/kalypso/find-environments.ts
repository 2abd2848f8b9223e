import { isFleetError } from '#bundles/errors';
import { refuseClashes } from '../platform/check-clashes.ts';
import { type ObjectOf, ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import type { Problems } from '../../model/problems.ts';
import type { Location } from '../../model/location.ts';
import type { Source, Sources } from '../sources/open-sources.ts';

export type KalypsoRoot = {
  readonly source: Source;
  readonly environments: readonly ObjectOf<'Environment'>[];
};

/**
 * The Environment objects of a control plane, from `.environments/` (which .sourceignore hides from Kalypso's own delivery),
 * or from anywhere under the path.
 */
export const findEnvironments = async (
  sources: Sources,
  location: Location,
  path: string,
  problems: Problems,
): Promise<KalypsoRoot> => {
  const folder = path === '.' ? '.environments' : `${path}/.environments`;
  const hidden = await readIfThere(sources, location, folder);
  if (hidden) {
    const environments = environmentsOf(hidden, problems);
    if (environments.length > 0) return { source: hidden, environments };
  }
  const source = await sources.read({ role: 'platform', location, path });
  return { source, environments: environmentsOf(source, problems) };
};

const environmentsOf = (source: Source, problems: Problems): readonly ObjectOf<'Environment'>[] => {
  // Other objects of the control plane are checked where they are used, at the promoted commit.
  const found = source.files.filter((file) =>
    /kind["']?\s*:\s*["']?Environment\b/.test(file.bytes.toString('latin1')),
  );
  const objects = ofKind(readObjects({ ...source, files: found }, problems.found), 'Environment');
  return ofKind(refuseClashes(objects, problems.found), 'Environment');
};

const readIfThere = async (
  sources: Sources,
  location: Location,
  path: string,
): Promise<Source | undefined> => {
  try {
    return await sources.read({ role: 'platform', location, path, ignore: 'none' });
  } catch (error) {
    if (isFleetError(error, 'SOURCE_MISSING')) return undefined;
    throw error;
  }
};
