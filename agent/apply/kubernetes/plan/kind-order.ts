import { compareBytes } from '#bundles/digest';
import type { WantedObject } from '../desired/wanted-object.ts';

/**
 * Kinds in the order in which they are applied (checklist O1); those of one line at the same time. What is in no line
 * (custom resources) comes after the workloads; webhooks come last, for they judge all the others.
 */
const LINES: readonly (readonly string[])[] = [
  ['CustomResourceDefinition'],
  ['Namespace'],
  ['ClusterRole', 'PriorityClass', 'StorageClass', 'IngressClass', 'RuntimeClass', 'GatewayClass'],
  ['ClusterRoleBinding'],
  ['ResourceQuota', 'LimitRange'],
  ['ServiceAccount', 'Role'],
  ['RoleBinding'],
  ['ConfigMap', 'Secret', 'PersistentVolume'],
  ['PersistentVolumeClaim', 'NetworkPolicy'],
  ['Service'],
  ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Pod', 'Job', 'CronJob'],
  ['HorizontalPodAutoscaler', 'PodDisruptionBudget'],
  ['Ingress'],
];

const CUSTOM = LINES.length;
const LAST = ['APIService', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
const WEBHOOKS = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];

const rank = new Map<string, number>([
  ...LINES.flatMap((kinds, index) => kinds.map((kind) => [kind, index] as const)),
  ...LAST.map((kind) => [kind, CUSTOM + 1] as const),
  ...WEBHOOKS.map((kind) => [kind, CUSTOM + 2] as const),
]);

/** Built-in kinds live in groups without a dot or under k8s.io; another group's 'Service' is a custom resource. */
const isBuiltIn = (group: string): boolean => !group.includes('.') || group.endsWith('.k8s.io');

/** Which of the stages an object belongs to, from 0. Deletion goes backwards. */
export const stageOf = ({ group, kind }: Pick<WantedObject, 'group' | 'kind'>): number =>
  (isBuiltIn(group) ? rank.get(kind) : undefined) ?? CUSTOM;

type Placed = Pick<WantedObject, 'group' | 'kind' | 'key'> & {
  readonly namespace: string | undefined;
  readonly name: string;
};

/** Stage, kind, namespace, name: the same order whatever the files' order was. */
export const inKindOrder = <T extends Placed>(objects: readonly T[]): readonly T[] =>
  objects.toSorted(
    (a, b) =>
      stageOf(a) - stageOf(b) ||
      compareBytes(a.kind, b.kind) ||
      compareBytes(a.namespace ?? '', b.namespace ?? '') ||
      compareBytes(a.name, b.name) ||
      compareBytes(a.key, b.key),
  );
