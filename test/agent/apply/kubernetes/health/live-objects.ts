/** Live objects as an API server returns them, cut to what their health depends on. */
export type Live = Readonly<Record<string, unknown>> & {
  readonly metadata: Readonly<Record<string, unknown>>;
};

export const condition = (type: string, status: string, reason = '', message = '', more: object = {}) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-03-01T10:00:00Z',
  ...more,
});

export const live = (
  apiVersion: string,
  kind: string,
  { metadata = {}, spec = {}, status }: { metadata?: object; spec?: object; status?: object | undefined },
): Live => ({
  apiVersion,
  kind,
  metadata: {
    name: 'order-api',
    namespace: 'web',
    uid: `uid-${kind}`,
    generation: 2,
    creationTimestamp: '2026-03-01T10:00:00Z',
    resourceVersion: '41',
    ...metadata,
  },
  spec,
  ...(status && { status }),
});

const PROGRESSED = condition('Progressing', 'True', 'NewReplicaSetAvailable', 'ReplicaSet has progressed');
const AVAILABLE = condition('Available', 'True', 'MinimumReplicasAvailable', 'it has minimum availability');

export const deployment = (status: object = {}, spec: object = {}, metadata: object = {}): Live =>
  live('apps/v1', 'Deployment', {
    metadata: { annotations: { 'deployment.kubernetes.io/revision': '3' }, ...metadata },
    spec: { replicas: 3, ...spec },
    status: {
      observedGeneration: 2,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: [AVAILABLE, PROGRESSED],
      ...status,
    },
  });

export const statefulSet = (status: object = {}, spec: object = {}): Live =>
  live('apps/v1', 'StatefulSet', {
    spec: {
      replicas: 3,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...spec,
    },
    status: {
      observedGeneration: 2,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: 'db-2',
      updateRevision: 'db-2',
      ...status,
    },
  });

export const daemonSet = (status: object | undefined = {}, spec: object = {}): Live =>
  live('apps/v1', 'DaemonSet', {
    spec,
    status: {
      observedGeneration: 2,
      desiredNumberScheduled: 3,
      currentNumberScheduled: 3,
      updatedNumberScheduled: 3,
      numberAvailable: 3,
      numberReady: 3,
      ...status,
    },
  });

export const replicaSet = (status: object = {}): Live =>
  live('apps/v1', 'ReplicaSet', {
    spec: { replicas: 2 },
    status: {
      observedGeneration: 2,
      replicas: 2,
      fullyLabeledReplicas: 2,
      availableReplicas: 2,
      readyReplicas: 2,
      ...status,
    },
  });

export const pod = (status: object = {}, metadata: object = {}): Live =>
  live('v1', 'Pod', {
    metadata: { name: 'order-api-abc', generation: undefined, ...metadata },
    status: {
      phase: 'Running',
      startTime: '2026-03-01T10:00:00Z',
      conditions: [condition('PodScheduled', 'True'), condition('Ready', 'True')],
      containerStatuses: [{ name: 'api', ready: true, restartCount: 0, state: { running: {} } }],
      ...status,
    },
  });

/** A pod whose one container waits. */
export const waitingPod = (reason: string, message = '', more: object = {}, metadata: object = {}): Live =>
  pod(
    {
      phase: 'Pending',
      conditions: [
        condition('PodScheduled', 'True'),
        condition('Ready', 'False', 'ContainersNotReady', 'containers with unready status: [api]'),
      ],
      containerStatuses: [
        { name: 'api', ready: false, restartCount: 0, state: { waiting: { reason, message } }, ...more },
      ],
    },
    metadata,
  );

export const unschedulablePod = (): Live =>
  pod({
    phase: 'Pending',
    containerStatuses: undefined,
    conditions: [
      condition('PodScheduled', 'False', 'Unschedulable', '0/1 nodes are available: 1 Insufficient cpu.'),
    ],
  });

export const job = (status: object = {}, spec: object = {}): Live =>
  live('batch/v1', 'Job', { spec, status: { startTime: '2026-03-01T10:00:00Z', ...status } });

export const custom = (status: object | undefined, metadata: object = {}): Live =>
  live('shop.example/v1', 'Till', { metadata, status });
