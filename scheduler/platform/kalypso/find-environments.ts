import { isFleetError } from '#bundles/errors';
import { refuseClashes } from '../check-clashes.ts';
import { type ObjectOf, ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import type { Problems } from '../problems.ts';
import type { Location } from '../sources/location.ts';
import type { Source, Sources } from '../sources/open-sources.ts';

export type KalypsoRoot = {
  readonly source: Source;
  readonly environments: readonly ObjectOf<'Environment'>[];
};

/**
 * The Environment objects of a control plane: in `.environments/` as Kalypso has them (hidden from its own delivery by
 * .sourceignore), or anywhere under the path.
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
  // Other objects of the control plane are judged where they are used, under the commit that is promoted.
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
