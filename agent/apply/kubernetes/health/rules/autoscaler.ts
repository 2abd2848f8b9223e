import { type Condition, formatCause, toCondition } from '../condition.ts';
import { listOf, textOf } from '../live-field.ts';
import { current, failed, inProgress, type Verdict } from '../verdict.ts';

/** Time for its target to appear, which another package may create. */
const TARGET_GRACE_MS = 120_000;

/** Conditions that Argo CD counts as degraded, by type and reason. */
const DEGRADED: ReadonlySet<string> = new Set([
  'AbleToScale FailedGetScale',
  'AbleToScale FailedUpdateScale',
  'ScalingActive FailedGetResourceMetric',
  'ScalingActive InvalidSelector',
]);
const ABLE: ReadonlySet<string> = new Set(['AbleToScale', 'ScalingLimited']);

/**
 * Argo CD's rule: in the order of the list, the first condition that is degraded or able decides. An autoscaler that can scale its target
 * is healthy even without metrics. Metrics belong to the cluster and appear minutes after the pods, so waiting for them would fail the
 * second release of a package.
 */
export const judgeAutoscaler = (object: unknown): Verdict => {
  for (const condition of conditionsOf(object)) {
    if (DEGRADED.has(`${condition.type} ${condition.reason}`))
      return failed(formatCause(condition, 'it cannot scale'), TARGET_GRACE_MS);
    if (ABLE.has(condition.type) && condition.status === 'True')
      return current(formatCause(condition, 'it can scale'));
  }
  return inProgress('its controller does not say yet that it can scale');
};

/** autoscaling/v1 has the conditions as JSON in an annotation. */
const V1_CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';

const conditionsOf = (object: unknown): readonly Condition[] => {
  const text = textOf(object, 'metadata', 'annotations', V1_CONDITIONS);
  const conditions = text === undefined ? listOf(object, 'status', 'conditions') : parseList(text);
  return conditions.flatMap((one) => toCondition(one) ?? []);
};

const parseList = (text: string): readonly unknown[] => {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
};
