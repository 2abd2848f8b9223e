import { FleetError } from '#bundles/errors';
import type { Assignment, ClusterType, DeploymentTarget, Platform, SchedulingPolicy } from '../model.ts';
import { matchLabels } from './match-labels.ts';

export type Selection = {
  readonly assignments: readonly Assignment[];
  readonly advice: readonly FleetError[];
};

/**
 * Each policy's deployment targets times its cluster types (behaviour spec 2.2), ordered by cluster type and target. If two
 * policies select one pair, the first by name is used and the other reported; Kalypso then makes no package in the whole
 * environment.
 */
export const selectPairs = (platform: Platform): Selection => {
  const taken = platform.clusterTypes.map(() => new Map<number, SchedulingPolicy>());
  const doubles = new Map<string, Double>();
  for (const policy of platform.policies) {
    const targets = [...platform.targets.keys()].filter((at) =>
      selectsTarget(policy, platform.targets[at] as DeploymentTarget),
    );
    for (const [at, clusterType] of platform.clusterTypes.entries()) {
      if (!matchLabels(policy.clusterTypes, clusterType.labels)) continue;
      const pairs = taken[at] as Map<number, SchedulingPolicy>;
      for (const target of targets) {
        const first = pairs.get(target);
        if (!first) pairs.set(target, policy);
        else count(doubles, first, policy, clusterType, platform.targets[target] as DeploymentTarget);
      }
    }
  }
  const assignments = platform.clusterTypes.flatMap((clusterType, at) => {
    const pairs = taken[at] as Map<number, SchedulingPolicy>;
    return [...pairs.entries()]
      .toSorted(([a], [b]) => a - b)
      .map(([target, policy]) => ({
        clusterType,
        target: platform.targets[target] as DeploymentTarget,
        policy: policy.name,
      }));
  });
  return { assignments, advice: [...doubles.values()].map(toAdvice) };
};

/** Whether the policy selects the target. */
export const selectsTarget = (policy: SchedulingPolicy, target: DeploymentTarget): boolean =>
  (policy.workspace === '' || policy.workspace === target.labels.workspace) &&
  matchLabels(policy.targets, target.labels);

type Double = {
  readonly first: SchedulingPolicy;
  readonly second: SchedulingPolicy;
  readonly example: string;
  pairs: number;
};

const count = (
  doubles: Map<string, Double>,
  first: SchedulingPolicy,
  second: SchedulingPolicy,
  clusterType: ClusterType,
  target: DeploymentTarget,
): void => {
  const key = `${first.name}\0${second.name}`;
  const known = doubles.get(key);
  if (known) known.pairs += 1;
  else doubles.set(key, { first, second, example: `${target.name} on ${clusterType.name}`, pairs: 1 });
};

const toAdvice = ({ first, second, example, pairs }: Double): FleetError =>
  new FleetError(
    'DUPLICATE_ASSIGNMENT',
    `policies ${first.name} and ${second.name} both select ${example}${pairs > 1 ? ` and ${pairs - 1} more` : ''}; ${first.name} has it`,
    {
      subject: `SchedulingPolicy ${second.name}`,
      at: second.at,
      hint: 'Narrow the selectors of one of the two',
    },
  );
