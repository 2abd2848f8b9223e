import { matchesClusterType, matchesTarget } from '../../plan/compose/match-selector.ts';
import type {
  ClusterType,
  DeploymentTarget,
  LabelSelector,
  Labels,
  SchedulingPolicy,
} from '../../model/model.ts';
import { matchLabels } from '../../model/selectors/match-labels.ts';

/** One condition of a policy, with its result. */
export type PolicyTerm = {
  readonly of: 'deployment target' | 'cluster type';
  /** 'region=eu', 'tier In (a, b)', 'workspace=sales' */
  readonly wants: string;
  /** Value of the label; undefined without one. */
  readonly found: string | undefined;
  readonly holds: boolean;
};

/** Conditions of a policy for this pair, in the order written; empty for a selector that selects all. */
export const policyTerms = (
  policy: SchedulingPolicy,
  clusterType: ClusterType,
  target: DeploymentTarget,
): readonly PolicyTerm[] => [
  ...(policy.workspace === ''
    ? []
    : [
        {
          of: 'deployment target' as const,
          wants: `workspace=${policy.workspace}`,
          found: labelOf(target.labels, 'workspace'),
          holds: labelOf(target.labels, 'workspace') === policy.workspace,
        },
      ]),
  ...selectorTerms('deployment target', policy.targets, target.labels),
  ...selectorTerms('cluster type', policy.clusterTypes, clusterType.labels),
];

const selectorTerms = (
  of: PolicyTerm['of'],
  selector: LabelSelector,
  labels: Labels,
): readonly PolicyTerm[] => [
  ...Object.entries(selector.matchLabels).map(([key, value]) => ({
    of,
    wants: `${key}=${value}`,
    found: labelOf(labels, key),
    holds: matchLabels({ matchLabels: { [key]: value }, matchExpressions: [] }, labels),
  })),
  ...selector.matchExpressions.map((expression) => ({
    of,
    wants: `${expression.key} ${expression.operator}${expression.values.length > 0 ? ` (${expression.values.join(', ')})` : ''}`,
    found: labelOf(labels, expression.key),
    holds: matchLabels({ matchLabels: {}, matchExpressions: [expression] }, labels),
  })),
];

/** One label of a layer's selector, and whether the cluster type or the target has it. */
export type LayerTerm = { readonly wants: string; readonly by: 'cluster type' | 'deployment target' };

/** Why a layer applies to this pair. */
export const layerTerms = (
  selector: Labels,
  clusterType: ClusterType,
  target: DeploymentTarget,
): readonly LayerTerm[] =>
  Object.entries(selector).flatMap(([key, value]): readonly LayerTerm[] => {
    const wants = `${key}=${value}`;
    if (matchesClusterType(key, value, clusterType)) return [{ wants, by: 'cluster type' }];
    return matchesTarget(key, value, target) ? [{ wants, by: 'deployment target' }] : [];
  });

const labelOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;
