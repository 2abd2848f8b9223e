const KINDS: readonly (readonly [kind: string, apiVersion: string])[] = [
  ['ConfigMap', 'v1'],
  ['Secret', 'v1'],
  ['Service', 'v1'],
  ['ServiceAccount', 'v1'],
  ['Pod', 'v1'],
  ['PersistentVolumeClaim', 'v1'],
  ['ResourceQuota', 'v1'],
  ['LimitRange', 'v1'],
  ['Endpoints', 'v1'],
  ['Deployment', 'apps/v1'],
  ['DaemonSet', 'apps/v1'],
  ['Job', 'batch/v1'],
  ['Ingress', 'networking.k8s.io/v1'],
  ['NetworkPolicy', 'networking.k8s.io/v1'],
  ['Role', 'rbac.authorization.k8s.io/v1'],
  ['RoleBinding', 'rbac.authorization.k8s.io/v1'],
  ['Lease', 'coordination.k8s.io/v1'],
  ['PodDisruptionBudget', 'policy/v1'],
  ['HorizontalPodAutoscaler', 'autoscaling/v2'],
  ['Widget', 'shop.example/v1'],
];

/** The same object in the forms in which a file can have it. */
const FORMS: readonly ((one: object) => object)[] = [
  (one) => one,
  (one) => ({ apiVersion: 'v1', kind: 'List', items: [one] }),
  (one) => ({ apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'List', items: [one] }] }),
  (one) => ({
    ...one,
    metadata: {
      ...(one as { metadata: object }).metadata,
      annotations: { 'fleet-ferry/apply': 'ifNotPresent' },
    },
  }),
  (one) => ({
    ...one,
    metadata: {
      ...(one as { metadata: object }).metadata,
      annotations: { 'fleet-ferry/assignment': 'blue-app', 'fleet-ferry/fleet': 'halden' },
    },
  }),
];

/** 100 objects with which a tenant tries to get into the namespace of another: each kind in each form. */
export const intrusionsInto = (namespace: string): readonly object[] =>
  KINDS.flatMap(([kind, apiVersion]) =>
    FORMS.map((form) => form({ apiVersion, kind, metadata: { name: 'x', namespace } })),
  );
