import { FleetError } from '#bundles/errors';
import type { Assignment, DeploymentTarget, HeldAssignment, Platform } from '../platform/model.ts';
import { findDependencyFaults } from './find-dependency-faults.ts';
import { findMisspelled } from './find-misspelled.ts';
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
    advice: [
      ...(platform.advice ?? []),
      ...advice,
      ...unselected,
      ...nowhere(platform, selected, new Set([...nameFaults.keys(), ...findMisspelled(platform).keys()])),
    ],
  };
};

/** A label with a slip of the pen leaves an application out, or takes it away from every site, without a word. */
const nowhere = (
  { targets }: Platform,
  selected: ReadonlySet<DeploymentTarget>,
  told: ReadonlySet<DeploymentTarget>,
): readonly FleetError[] => {
  const [first, ...more] = targets.filter((target) => !selected.has(target) && !told.has(target));
  if (!first) return [];
  return [
    new FleetError(
      'REFERENCE_MISSING',
      `no policy puts ${first.name}${more.length > 0 ? ` and ${more.length} more` : ''} on any cluster type`,
      {
        subject: `DeploymentTarget ${first.name}`,
        at: first.at,
        hint: 'If that is not meant, compare its labels with the selectors of the policies',
      },
    ),
  ];
};
