import { FleetError, isFleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { environmentsOf } from '../../load/list-environments.ts';
import { readRoot, type Root } from '../../load/load-platform.ts';
import type { Sources } from '../../load/sources/open-sources.ts';

export type RootOptions = {
  readonly platform: string;
  /** Fleet name for Kalypso repositories. */
  readonly fleet?: string;
  readonly keys: KeyDirectory;
};

/** Opens the platform's root. @throws FleetError its first problem; USAGE if it belongs to another fleet than the keys */
export const openRoot = async (options: RootOptions, sources: Sources): Promise<Root> => {
  const root = await readRoot(options.platform, sources);
  const signing = options.keys.root.fleet;
  const fleet = root.form === 'fleet' ? root.fleet.name : (options.fleet ?? signing);
  if (fleet === signing) return root;
  throw new FleetError('USAGE', `the platform is fleet ${fleet}, but the keys are of fleet ${signing}`, {
    at: root.form === 'fleet' ? root.fleet.at : undefined,
    hint: 'Give the --keys of this fleet',
  });
};

/** The requested environments without duplicates, default all. @throws FleetError PLATFORM_INVALID for an unknown one */
export const chooseEnvironments = (root: Root, asked: readonly string[] | undefined): readonly string[] => {
  const known = environmentsOf(root);
  const unknown = asked?.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(asked ?? known)];
  throw new FleetError('PLATFORM_INVALID', `the platform has no environment ${JSON.stringify(unknown)}`, {
    at: root.form === 'fleet' ? root.fleet.at : undefined,
    hint: `${didYouMean(unknown, known) ?? ''}It has ${known.join(', ')}`,
  });
};

/**
 * The platform's newest root, for its chain and policies, and the view that reads them. If its repository does not answer, or no
 * longer has the branch, both are in their last known state: without its policies a release could reach more agents than
 * permitted.
 * @param lastKnown reads such a repository in its last known state, and adds an advice
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING if it was never read; as openRoot
 */
export const newestRoot = async (
  options: RootOptions,
  unlocked: Sources,
  lastKnown: () => Sources,
): Promise<{ readonly root: Root; readonly sources: Sources }> => {
  try {
    return { root: await openRoot(options, unlocked), sources: unlocked };
  } catch (error) {
    if (!isFleetError(error, 'SOURCE_UNREACHABLE') && !isFleetError(error, 'SOURCE_MISSING')) throw error;
    const sources = lastKnown();
    return { root: await openRoot(options, sources), sources };
  }
};
