import type { FleetError } from '#bundles/errors';
import { problemsOf, toProblem } from '../../model/problems.ts';
import { compareEnvironments, type EnvironmentDiff } from './compare-environments.ts';
import type { EnvironmentView } from './view-environment.ts';

/** One state of an environment, or its errors; undefined: the environment does not exist. */
export type Viewed = EnvironmentView | readonly FleetError[] | undefined;

/** Returns the result of `view`, or its errors. @throws FleetError ABORTED, INTERNAL */
export const viewOrProblems = async (
  environment: string,
  view: () => Promise<EnvironmentView | undefined>,
): Promise<Viewed> => {
  try {
    return await view();
  } catch (error) {
    return problemsOf(toProblem(error, `reading ${environment}`));
  }
};

/** Compares two states. The errors of an unreadable state are part of the result, and nothing is compared. Pure. */
export const compareViews = (environment: string, before: Viewed, after: Viewed): EnvironmentDiff => {
  const problems = [before, after].flatMap((side) => (isView(side) ? [] : side));
  return isView(before) && isView(after)
    ? compareEnvironments(environment, before, after)
    : { environment, files: [], clusterTypes: [], problems, unread: [] };
};

export const isView = (side: Viewed): side is EnvironmentView | undefined => !Array.isArray(side);
