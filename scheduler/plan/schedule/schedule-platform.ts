import { FleetError } from '#bundles/errors';
import type { Assignment, DeploymentTarget, HeldAssignment, Platform } from '../../model/model.ts';
import { findMisspelled } from '../../model/selectors/find-misspelled.ts';
import { selectPairs } from '../../model/selectors/select-pairs.ts';
import { findCriticalFaults } from './find-critical-faults.ts';
import { findDependencyFaults } from './find-dependency-faults.ts';
import { findNameFaults, type PastTargets } from './find-name-faults.ts';

/** The assignments of one environment. */
export type Schedule = {
  /** Ordered by cluster type, then by deployment target. */
  readonly assignments: readonly Assignment[];
  /** Selected, but not rendered because of an error. */
  readonly held: readonly HeldAssignment[];
  /** Warnings: nothing is held for them. */
  readonly advice: readonly FleetError[];
};

/**
 * Assigns deployment targets to cluster types. A pure function of the platform and the last releases.
 * @param past owners of the names in the last releases; default: none
 */
export const schedulePlatform = (platform: Platform, past?: PastTargets): Schedule => {
  const { assignments, advice } = selectPairs(platform);
  const nameFaults = findNameFaults(platform, past);
  const criticalFaults = findCriticalFaults(platform);
  const dependencyFaults = findDependencyFaults(assignments);
  const faultOf = (assignment: Assignment): FleetError | undefined =>
    nameFaults.get(assignment.target) ??
    criticalFaults.get(assignment.target) ??
    dependencyFaults.get(assignment);
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

/** Warns of targets without an assignment: a misspelled label would silently remove an application from every site. */
const nowhere = (
  { targets }: Platform,
  selected: ReadonlySet<DeploymentTarget>,
  reported: ReadonlySet<DeploymentTarget>,
): readonly FleetError[] => {
  const [first, ...more] = targets.filter((target) => !selected.has(target) && !reported.has(target));
  if (!first) return [];
  return [
    new FleetError(
      'REFERENCE_MISSING',
      `no policy assigns ${first.name}${more.length > 0 ? ` and ${more.length} more` : ''} on any cluster type`,
      {
        subject: `DeploymentTarget ${first.name}`,
        at: first.at,
        hint: 'If that is not intended, compare its labels with the selectors of the policies',
      },
    ),
  ];
};
