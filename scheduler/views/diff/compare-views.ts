import { type FleetError, toFleetError } from '#bundles/errors';
import { problemsOf } from '../../model/problems.ts';
import { compareEnvironments, type EnvironmentDiff } from './compare-environments.ts';
import type { EnvironmentView } from './view-environment.ts';

/** One state of an environment, or what is wrong with it; undefined: the environment is not there. */
export type Viewed = EnvironmentView | readonly FleetError[] | undefined;

/** What `view` gives, or what is wrong with it. @throws FleetError ABORTED, INTERNAL */
export const viewOrProblems = async (
  environment: string,
  view: () => Promise<EnvironmentView | undefined>,
): Promise<Viewed> => {
  try {
    return await view();
  } catch (error) {
    const known = toFleetError(error, `reading ${environment}`);
    if (known.code === 'ABORTED' || known.code === 'INTERNAL') throw known;
    return problemsOf(known);
  }
};

/** Pure. A state that cannot be read has its problems told; then nothing is compared. */
export const compareViews = (environment: string, before: Viewed, after: Viewed): EnvironmentDiff => {
  const problems = [before, after].flatMap((side) => (isView(side) ? [] : side));
  return isView(before) && isView(after)
    ? compareEnvironments(environment, before, after)
    : { environment, files: [], clusterTypes: [], problems, unread: [] };
};

const isView = (side: Viewed): side is EnvironmentView | undefined => !Array.isArray(side);
