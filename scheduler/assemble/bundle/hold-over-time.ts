import { type HeldAssignment, type Workspace } from '../../model/model.ts';
import { boundOf, overLimit } from '../../model/limits.ts';
import type { AssembledPackage } from './assembled-package.ts';

/**
 * Holds all packages of the workspaces whose packages together may keep a host of this cluster type waiting for longer than
 * `workspaceSeconds`, with WORKSPACE_LIMIT. Packages of the platform have no limit.
 */
export const holdOverTime = (
  assembled: readonly AssembledPackage[],
  workspaces: readonly Workspace[] | undefined,
): readonly HeldAssignment[] => {
  const limited = assembled.filter(({ seconds }) => seconds !== undefined);
  return [...Map.groupBy(limited, ({ assignment }) => assignment.target.workspace)].flatMap(
    ([workspace, packages]) => {
      const sum = packages.reduce((total, { seconds = 0 }) => total + seconds, 0);
      return packages.flatMap(({ assignment, id }) => {
        const bound = boundOf(workspaces, workspace, id);
        const what = `the checks and services of all packages of ${workspace === '' ? 'applications without a workspace' : `workspace ${workspace}`} on ${assignment.clusterType.name}`;
        return sum > bound.limits.workspaceSeconds
          ? [{ assignment, error: overLimit(bound, 'workspaceSeconds', sum, what) }]
          : [];
      });
    },
  );
};
