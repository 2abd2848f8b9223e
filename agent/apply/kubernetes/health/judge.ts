import type { LiveObject } from '../api/kubernetes-api.ts';
import { isBuiltIn } from '../desired/is-built-in.ts';
import { groupOf } from '../desired/object-key.ts';
import { oneLine } from './condition.ts';
import { textOf } from './live-field.ts';
import { judgeAnyObject, judgeBehind, judgeByReady, pausedBy } from './rules/any-object.ts';
import {
  judgeApiService,
  judgeDefinition,
  judgeIngress,
  judgeNamespace,
  judgeService,
  judgeVolumeClaim,
} from './rules/other-kinds.ts';
import { judgeAutoscaler } from './rules/autoscaler.ts';
import {
  judgeDaemonSet,
  judgeDeployment,
  judgeDisruptionBudget,
  judgeJob,
  judgeReplicaSet,
  judgeStatefulSet,
} from './rules/workloads.ts';
import { judgePod } from './rules/pod.ts';
import { judgeWebhooks } from './rules/webhooks.ts';
import { current, type HealthContext, type Verdict } from './verdict.ts';

type Rule = (object: unknown, context: HealthContext) => Verdict;

/** Rules by 'group/Kind', for all versions. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['/Namespace', judgeNamespace],
  ['/PersistentVolumeClaim', judgeVolumeClaim],
  ['/Pod', judgePod],
  ['/ReplicationController', judgeReplicaSet],
  ['/Service', judgeService],
  ['admissionregistration.k8s.io/MutatingWebhookConfiguration', judgeWebhooks],
  ['admissionregistration.k8s.io/ValidatingWebhookConfiguration', judgeWebhooks],
  ['apiextensions.k8s.io/CustomResourceDefinition', judgeDefinition],
  ['apiregistration.k8s.io/APIService', judgeApiService],
  ['apps/DaemonSet', judgeDaemonSet],
  ['apps/Deployment', judgeDeployment],
  ['apps/ReplicaSet', judgeReplicaSet],
  ['apps/StatefulSet', judgeStatefulSet],
  ['autoscaling/HorizontalPodAutoscaler', judgeAutoscaler],
  ['batch/CronJob', () => current('it is there')],
  ['batch/Job', judgeJob],
  ['networking.k8s.io/Ingress', judgeIngress],
  ['policy/PodDisruptionBudget', judgeDisruptionBudget],
]);

/** True if the kind has a status to wait for. ConfigMaps, Secrets and roles have none. */
export const hasStatus = ({ group, kind }: { readonly group: string; readonly kind: string }): boolean =>
  RULES.has(`${group}/${kind}`) || !isBuiltIn(group);

/** Judges a live object by the first matching rule (checklist W). Never throws, for any content of the object. */
export const judge = (object: unknown, context: HealthContext): Verdict => {
  const verdict = judgeByRules(object, context);
  // Messages quote names and finalizers, which may contain any text.
  return { ...verdict, message: oneLine(verdict.message, MAX_CHARACTERS) };
};

const MAX_CHARACTERS = 600;

const judgeByRules = (object: unknown, context: HealthContext): Verdict => {
  const kind = textOf(object, 'kind');
  const apiVersion = textOf(object, 'apiVersion');
  if (kind === undefined || apiVersion === undefined) {
    return { status: 'Unknown', message: 'this is not an object of a cluster' };
  }
  if (context.custom) return judgeBehind(object, context) ?? context.custom(object as LiveObject);
  const group = groupOf(apiVersion);
  const paused = isBuiltIn(group) ? undefined : pausedBy(object);
  if (paused !== undefined && textOf(object, 'metadata', 'deletionTimestamp') === undefined)
    return current(`its controller is paused (${paused})`);
  const general = judgeAnyObject(object, context);
  if (general) return general;
  const rule = RULES.get(`${group}/${kind}`);
  if (rule) return rule(object, context);
  const byReady = judgeByReady(object, context);
  return isBuiltIn(group) && byReady.status === 'Current' ? { ...byReady, proven: true } : byReady;
};
