import { FleetError } from '#bundles/errors';
import type { Assignment, DeploymentTarget } from '../../model/model.ts';

/**
 * Errors of assignments whose dependencies cannot be met: DEPENDENCY_MISSING for a target that is not on the same cluster
 * type, DEPENDENCY_CYCLE for a cycle.
 */
export const findDependencyFaults = (
  assignments: readonly Assignment[],
): ReadonlyMap<Assignment, FleetError> => {
  const faults = new Map<Assignment, FleetError>();
  const dependent = assignments.filter(({ target }) => target.dependsOn.length > 0);
  if (dependent.length === 0) return faults;
  const circles = findCircles(new Map(dependent.map(({ target }) => [target.name, target])));
  const present = new Map<string, Set<string>>();
  for (const { clusterType, target } of assignments) {
    const names = present.get(clusterType.name) ?? new Set<string>();
    present.set(clusterType.name, names.add(target.name));
  }
  for (const assignment of dependent) {
    const { clusterType, target } = assignment;
    const missing = target.dependsOn.filter((name) => !present.get(clusterType.name)?.has(name));
    const circle = circles.get(target.name);
    if (missing.length > 0) faults.set(assignment, isMissing(assignment, missing));
    else if (circle) faults.set(assignment, isCircular(assignment, circle));
  }
  return faults;
};

/** For every target in a cycle, one path around it. */
const findCircles = (
  targets: ReadonlyMap<string, DeploymentTarget>,
): ReadonlyMap<string, readonly string[]> => {
  const circles = new Map<string, readonly string[]>();
  for (const start of targets.keys()) {
    const way = findCycle(targets, start);
    if (way) circles.set(start, way);
  }
  return circles;
};

/** A shortest path along the dependencies of a target back to it. */
const findCycle = (
  targets: ReadonlyMap<string, DeploymentTarget>,
  start: string,
): readonly string[] | undefined => {
  const ways = new Map<string, readonly string[]>([[start, [start]]]);
  // Iterating a Map includes entries added meanwhile, so this is a breadth-first search.
  for (const [name, way] of ways) {
    for (const next of targets.get(name)?.dependsOn ?? []) {
      if (next === start) return [...way, start];
      if (!ways.has(next)) ways.set(next, [...way, next]);
    }
  }
  return undefined;
};

const isMissing = ({ clusterType, target }: Assignment, missing: readonly string[]): FleetError =>
  new FleetError(
    'DEPENDENCY_MISSING',
    `${target.name} depends on ${missing.join(' and ')}, which no policy assigns to ${clusterType.name}`,
    {
      subject: `${clusterType.name}/${target.name}`,
      at: target.at,
      hint: 'Name deployment targets as <workload>-<target>, and schedule them on the same cluster type',
    },
  );

const isCircular = ({ clusterType, target }: Assignment, circle: readonly string[]): FleetError =>
  new FleetError('DEPENDENCY_CYCLE', circle.join(' waits for '), {
    subject: `${clusterType.name}/${target.name}`,
    at: target.at,
    hint: 'Remove one dependsOn of the cycle',
  });
