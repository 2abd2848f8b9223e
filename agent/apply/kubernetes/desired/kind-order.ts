import { compareBytes } from '#bundles/digest';
import type { WantedObject } from './wanted-object.ts';

/**
 * Kinds in their order of application (checklist O1); kinds of one line together. Other kinds (custom resources) follow the workloads;
 * webhooks come last, because they intercept requests for all others.
 */
const LINES: readonly (readonly string[])[] = [
  ['CustomResourceDefinition'],
  ['Namespace'],
  ['ClusterRole', 'PriorityClass', 'StorageClass', 'IngressClass', 'RuntimeClass', 'GatewayClass'],
  ['ClusterRoleBinding'],
  ['ResourceQuota', 'LimitRange'],
  ['ServiceAccount', 'Role'],
  ['RoleBinding'],
  ['ConfigMap', 'Secret', 'Service', 'PersistentVolume'],
  ['PersistentVolumeClaim', 'NetworkPolicy'],
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

/** Built-in kinds are in groups without a dot or under k8s.io; a 'Service' of another group is a custom resource. */
const isBuiltIn = (group: string): boolean => !group.includes('.') || group.endsWith('.k8s.io');

/** The stage of an object, from 0. Deletion runs in reverse order. */
export const stageOf = ({ group, kind }: Pick<WantedObject, 'group' | 'kind'>): number =>
  (isBuiltIn(group) ? rank.get(kind) : undefined) ?? CUSTOM;

type Placed = Pick<WantedObject, 'group' | 'kind' | 'key'> & {
  readonly namespace: string | undefined;
  readonly name: string;
};

/** Order by stage, kind, namespace and name, independent of the files' order. */
export const inKindOrder = <T extends Placed>(objects: readonly T[]): readonly T[] =>
  objects.toSorted(
    (a, b) =>
      stageOf(a) - stageOf(b) ||
      compareBytes(a.kind, b.kind) ||
      compareBytes(a.namespace ?? '', b.namespace ?? '') ||
      compareBytes(a.name, b.name) ||
      compareBytes(a.key, b.key),
  );

export const isNamespace = ({ group, kind }: Pick<WantedObject, 'group' | 'kind'>): boolean =>
  group === '' && kind === 'Namespace';

const HOLDERS: ReadonlySet<string> = new Set([
  '/Namespace',
  '/PersistentVolume',
  '/PersistentVolumeClaim',
  'apiextensions.k8s.io/CustomResourceDefinition',
]);

/**
 * True for kinds that hold other objects or data, which their deletion would delete as well. They are removed only with the whole
 * package (checklist I6), and replaced only if the author says so for the contents (R3).
 */
export const isHolder = ({ group, kind }: Pick<WantedObject, 'group' | 'kind'>): boolean =>
  HOLDERS.has(`${group}/${kind}`);
