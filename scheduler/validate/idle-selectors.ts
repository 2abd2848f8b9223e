import { FleetError, formatError } from '#bundles/errors';
import { matchesClusterType, matchesTarget } from '../compose/match-selector.ts';
import type { Platform } from '../platform/model.ts';
import { matchLabels } from '../schedule/match-labels.ts';
import { selectsTarget } from '../schedule/select-pairs.ts';

/**
 * Selectors that find nothing in any of these environments: nearly always a slip of the pen, which would go unseen. What
 * finds something in one environment is meant for that one.
 */
export const findIdleSelectors = (environments: readonly Platform[]): readonly FleetError[] => {
  const [first, ...others] = environments.map(
    (platform) => new Map(idleIn(platform).map((error) => [formatError(error), error])),
  );
  if (!first) return [];
  return [...first].filter(([text]) => others.every((other) => other.has(text))).map(([, error]) => error);
};

const idleIn = (platform: Platform): readonly FleetError[] => [
  ...idlePolicies(platform),
  ...idleLayers(platform),
];

const idlePolicies = ({ policies, targets, clusterTypes }: Platform): readonly FleetError[] =>
  policies.flatMap((policy) => {
    const nothing = [
      ...(targets.some((target) => selectsTarget(policy, target)) ? [] : ['deployment target']),
      ...(clusterTypes.some(({ labels }) => matchLabels(policy.clusterTypes, labels))
        ? []
        : ['cluster type']),
    ];
    if (nothing.length === 0) return [];
    return new FleetError('REFERENCE_MISSING', `the policy selects no ${nothing.join(' and no ')}`, {
      subject: `SchedulingPolicy ${policy.name}`,
      at: policy.at,
      hint: 'Compare its selectors with the labels of what it is meant for',
    });
  });

/** A label that no cluster type and no deployment target has: then the layer holds for nothing, whatever else it says. */
const idleLayers = ({ configs, targets, clusterTypes }: Platform): readonly FleetError[] =>
  configs.flatMap((layer) => {
    const idle = Object.entries(layer.selector).find(
      ([key, value]) =>
        !clusterTypes.some((one) => matchesClusterType(key, value, one)) &&
        !targets.some((one) => matchesTarget(key, value, one)),
    );
    if (!idle) return [];
    return new FleetError(
      'REFERENCE_MISSING',
      `it selects by ${idle.join('=')}, which no cluster type and no deployment target has`,
      {
        subject: layer.name,
        at: layer.at,
        hint: 'Its values hold for nothing; look for a slip of the pen',
      },
    );
  });
