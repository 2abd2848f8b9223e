import type { FleetError } from '#bundles/errors';
import type { Assignment, HeldAssignment, Platform } from '../platform/model.ts';
import { findDependencyFaults } from './find-dependency-faults.ts';
import { findNameFaults } from './find-name-faults.ts';
import { selectPairs } from './select-pairs.ts';

/** Who runs where. */
export type Schedule = {
  /** In order of cluster type, then of deployment target. */
  readonly assignments: readonly Assignment[];
  /** Selected, but not to be rendered. */
  readonly held: readonly HeldAssignment[];
  /** Odd, but nothing is held for it. */
  readonly advice: readonly FleetError[];
};

/** Assigns deployment targets to cluster types. Pure: the platform is all it looks at. */
export const schedulePlatform = (platform: Platform): Schedule => {
  const { assignments, advice } = selectPairs(platform);
  const nameFaults = findNameFaults(platform.targets);
  const dependencyFaults = findDependencyFaults(assignments);
  const faultOf = (assignment: Assignment): FleetError | undefined =>
    nameFaults.get(assignment.target) ?? dependencyFaults.get(assignment);
  const selected = new Set(assignments.map((assignment) => assignment.target));
  const unselected = [...nameFaults].filter(([target]) => !selected.has(target)).map(([, error]) => error);
  return {
    assignments: assignments.filter((assignment) => !faultOf(assignment)),
    held: assignments.flatMap((assignment) => {
      const error = faultOf(assignment);
      return error ? [{ assignment, error }] : [];
    }),
    advice: [...(platform.advice ?? []), ...advice, ...unselected],
  };
};
