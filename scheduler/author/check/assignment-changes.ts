import type { EnvironmentDiff } from '../../views/diff/compare-environments.ts';

/** Effect of an edit on one assignment. */
export type AssignmentChange = {
  readonly environment: string;
  readonly clusterType: string;
  readonly assignment: string;
  readonly outcome: 'created' | 'configured' | 'deleted' | 'held' | 'healed';
  /** Why it is held. */
  readonly why?: string | undefined;
};

/** The assignments that an edit adds, changes and removes, in the order of the environments. */
export const assignmentChanges = (diffs: readonly EnvironmentDiff[]): readonly AssignmentChange[] =>
  diffs.flatMap(({ environment, clusterTypes }) =>
    clusterTypes.flatMap(({ clusterType, assignments }) =>
      assignments.map(({ assignment, outcome, error }) => ({
        environment,
        clusterType,
        assignment,
        outcome,
        why: error?.message,
      })),
    ),
  );
