import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasStatus, judge } from '../../../../../agent/apply/kubernetes/health/judge.ts';
import type { HealthContext, Status } from '../../../../../agent/apply/kubernetes/health/verdict.ts';
import {
  condition,
  custom,
  daemonSet,
  deployment,
  job,
  type Live,
  live,
  pod,
  replicaSet,
  statefulSet,
  unschedulablePod,
  waitingPod,
} from './live-objects.ts';
import { runs } from '../../../../harness/run/long.ts';

/** Ten seconds after everything was made. */
const SOON: HealthContext = {
  now: new Date('2026-03-01T10:00:10Z'),
  loadBalancer: 'clusterIP',
  lateBinding: new Set(['local']),
};
const LATER: HealthContext = { ...SOON, now: new Date('2026-03-01T10:00:30Z') };

type Row = readonly [what: string, object: Live, status: Status, message: string, context?: HealthContext];

const check = (rows: readonly Row[]): void => {
  const tests = rows.map(([title, object, status, message, context = SOON]) => ({
    title,
    object,
    status,
    message,
    context,
  }));
  it.each(tests)('$title', ({ object, status, message, context }) => {
    expect(judge(object, context)).toMatchObject({ status, message: expect.stringContaining(message) });
  });
};

describe('any object', () => {
  check([
    [
      'is Terminating, whatever else it says, and tells who holds it',
      deployment({}, {}, { deletionTimestamp: '2026-03-01T11:00:00Z', finalizers: ['shop.example/hold'] }),
      'Terminating',
      'since 2026-03-01T11:00:00Z, held by shop.example/hold',
    ],
    [
      'is InProgress while its controller is behind',
      deployment({ observedGeneration: 1 }),
      'InProgress',
      'generation 1 of 2',
    ],
    [
      'is InProgress while Reconciling, before it is Stalled or Ready',
      custom({
        conditions: [
          condition('Ready', 'True'),
          condition('Stalled', 'True'),
          condition('Reconciling', 'True', 'Progressing', 'building tills'),
        ],
      }),
      'InProgress',
      'Progressing: building tills',
    ],
    [
      'is Failed when Stalled, whatever Ready says',
      custom({
        conditions: [condition('Ready', 'True'), condition('Stalled', 'True', 'NoQuota', 'no tills left')],
      }),
      'Failed',
      'NoQuota: no tills left',
    ],
    [
      'is Failed when Stalled for a cause that Ready has',
      custom({
        conditions: [
          condition('Ready', 'False', 'UpgradeFailed', 'invalid port'),
          condition('Stalled', 'True', 'RetriesExceeded', 'Failed to upgrade after 1 attempt(s)'),
        ],
      }),
      'Failed',
      'RetriesExceeded: Failed to upgrade after 1 attempt(s); Ready: UpgradeFailed: invalid port',
    ],
    [
      'is Failed once with what both conditions say',
      custom({
        conditions: [
          condition('Ready', 'False', 'NoQuota', 'no tills left'),
          condition('Stalled', 'True', 'NoQuota', 'no tills left'),
        ],
      }),
      'Failed',
      'NoQuota: no tills left',
    ],
    ['that is none is Unknown', { metadata: {} }, 'Unknown', 'not an object'],
  ]);
});

describe('a custom resource', () => {
  const behind = { observedGeneration: 1, conditions: [condition('Ready', 'False', 'Building')] };
  const field: HealthContext = { ...SOON, statusIsField: true };
  const paused = (spec: object, annotations: object = {}): Live =>
    live('shop.example/v1', 'Till', { spec, metadata: { annotations }, status: behind });
  check([
    [
      'of a kind without the status subresource is judged by its conditions: each status raises its generation',
      custom({ observedGeneration: 1, conditions: [condition('Ready', 'True', 'Ok', 'it sells')] }),
      'Current',
      'Ok: it sells',
      field,
    ],
    [
      'of such a kind waits for Ready, whatever generation the condition names',
      custom({ conditions: [condition('Ready', 'False', 'Building', '', { observedGeneration: 1 })] }),
      'InProgress',
      'not ready: Building',
      field,
    ],
    ...['suspend', 'suspended', 'paused', 'pause'].map(
      (name): Row => [
        `that its author stops by spec.${name} is Current`,
        paused({ [name]: true }),
        'Current',
        `spec.${name}: true`,
      ],
    ),
    ...['crossplane.io/paused', 'strimzi.io/pause-reconciliation'].map(
      (name): Row => [
        `that its author stops by the annotation ${name} is Current`,
        paused({}, { [name]: 'true' }),
        'Current',
        `annotation ${name}`,
      ],
    ),
    ['that is not paused waits', paused({ paused: false }), 'InProgress', 'generation 1 of 2'],
    [
      'whose annotation says false waits',
      paused({}, { 'crossplane.io/paused': 'false' }),
      'InProgress',
      'generation 1 of 2',
    ],
  ]);
});

describe('a Deployment', () => {
  check([
    ['is Current when all replicas are available', deployment(), 'Current', '3 of 3 replicas available'],
    [
      'is Failed past its progress deadline',
      deployment({
        availableReplicas: 1,
        conditions: [
          condition(
            'Progressing',
            'False',
            'ProgressDeadlineExceeded',
            'ReplicaSet "order-api-1" has timed out',
          ),
        ],
      }),
      'Failed',
      '1 of 3 replicas available; ProgressDeadlineExceeded: ReplicaSet "order-api-1" has timed out',
    ],
    [
      'is InProgress right after it was made, even with no replicas wanted',
      deployment({ observedGeneration: undefined, conditions: undefined }, { replicas: 0 }),
      'InProgress',
      'has not looked',
    ],
    [
      'that is paused is Current: nothing is meant to roll out',
      deployment(
        { updatedReplicas: 0, conditions: [condition('Progressing', 'Unknown', 'DeploymentPaused')] },
        { paused: true },
      ),
      'Current',
      'spec.paused: true',
    ],
    [
      'that is paused waits until its controller has seen that',
      deployment({ observedGeneration: 1 }, { paused: true }),
      'InProgress',
      'generation 1 of 2',
    ],
    ['waits for its pods to be made', deployment({ replicas: 2 }), 'InProgress', '2 of 3 replicas created'],
    [
      'says why its pods cannot be made',
      deployment({
        replicas: 0,
        conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'exceeded quota: small')],
      }),
      'InProgress',
      '0 of 3 replicas created: FailedCreate: exceeded quota: small',
    ],
    ['waits for the update', deployment({ updatedReplicas: 1 }), 'InProgress', '1 of 3 replicas updated'],
    ['waits for old pods to go', deployment({ replicas: 4 }), 'InProgress', '1 old pod is still there'],
    [
      'waits for availability',
      deployment({ availableReplicas: 1 }),
      'InProgress',
      '1 of 3 replicas available',
    ],
    ['waits for readiness', deployment({ readyReplicas: 2 }), 'InProgress', '2 of 3 replicas ready'],
    [
      'asks what is short in that order',
      deployment({ replicas: 2, updatedReplicas: 1, availableReplicas: 0 }),
      'InProgress',
      '2 of 3 replicas created',
    ],
    [
      'waits for the new replica set',
      deployment({ conditions: [condition('Progressing', 'True', 'ReplicaSetUpdated', 'is progressing')] }),
      'InProgress',
      'ReplicaSetUpdated: is progressing',
    ],
    [
      'waits for Available',
      deployment({
        conditions: [
          condition('Progressing', 'True', 'NewReplicaSetAvailable'),
          condition('Available', 'False', 'MinimumReplicasUnavailable', 'too few'),
        ],
      }),
      'InProgress',
      'MinimumReplicasUnavailable: too few',
    ],
    [
      'needs no Progressing condition where it has no deadline',
      deployment({ conditions: [condition('Available', 'True')] }),
      'Current',
      '3 of 3',
    ],
    [
      'of no replicas is Current',
      deployment(
        {
          replicas: undefined,
          updatedReplicas: undefined,
          readyReplicas: undefined,
          availableReplicas: undefined,
        },
        { replicas: 0 },
      ),
      'Current',
      '0 of 0',
    ],
    [
      'that says nothing of replicas wants one',
      deployment({ replicas: 0 }, { replicas: undefined }),
      'InProgress',
      '0 of 1 replica created',
    ],
  ]);
});

describe('a StatefulSet', () => {
  const partition = (value: number) => ({ updateStrategy: { rollingUpdate: { partition: value } } });
  check([
    [
      'is Current when all replicas are ready and of one revision',
      statefulSet(),
      'Current',
      '3 of 3 replicas ready',
    ],
    [
      'with OnDelete is Current: nobody may ever delete its pods',
      statefulSet({ readyReplicas: 0, updateRevision: 'db-3' }, { updateStrategy: { type: 'OnDelete' } }),
      'Current',
      'OnDelete',
    ],
    ['waits to be looked at', statefulSet({ observedGeneration: undefined }), 'InProgress', 'has not looked'],
    [
      'waits for its pods',
      statefulSet({ replicas: 1, readyReplicas: 1 }),
      'InProgress',
      '1 of 3 replicas created',
    ],
    ['waits for readiness', statefulSet({ readyReplicas: 2 }), 'InProgress', '2 of 3 replicas ready'],
    [
      'waits for surplus pods to go',
      statefulSet({ replicas: 5 }),
      'InProgress',
      '2 old pods are still there',
    ],
    [
      'waits for the update',
      statefulSet({ updateRevision: 'db-3', updatedReplicas: 1 }),
      'InProgress',
      '1 of 3 replicas updated',
    ],
    [
      'waits for the update down to its partition',
      statefulSet({ updateRevision: 'db-3', updatedReplicas: 0 }, partition(2)),
      'InProgress',
      '0 of 1 replica updated (partition 2)',
    ],
    [
      'is Current when updated down to its partition',
      statefulSet({ updateRevision: 'db-3', updatedReplicas: 1 }, partition(2)),
      'Current',
      'partition 2',
    ],
    [
      'with a partition above its replicas has nothing to update',
      statefulSet({ updateRevision: 'db-3', updatedReplicas: 0 }, partition(7)),
      'Current',
      'partition 7',
    ],
  ]);
});

describe('a DaemonSet', () => {
  check([
    ['is Current when it is ready on all its nodes', daemonSet(), 'Current', '3 of 3 replicas ready'],
    ['on no node is Current', daemonSet({ desiredNumberScheduled: 0 }), 'Current', '0 of 0'],
    ['waits to be looked at', daemonSet({ observedGeneration: undefined }), 'InProgress', 'has not looked'],
    [
      'waits to be counted',
      daemonSet({ desiredNumberScheduled: undefined }),
      'InProgress',
      'has not counted its nodes',
    ],
    ['waits for its pods', daemonSet({ currentNumberScheduled: 1 }), 'InProgress', '1 of 3 replicas created'],
    [
      'waits for the update',
      daemonSet({ updatedNumberScheduled: 1 }),
      'InProgress',
      '1 of 3 replicas updated',
    ],
    ['waits for availability', daemonSet({ numberAvailable: 2 }), 'InProgress', '2 of 3 replicas available'],
    ['waits for readiness', daemonSet({ numberReady: 2 }), 'InProgress', '2 of 3 replicas ready'],
    [
      'with OnDelete does not wait for the update',
      daemonSet({ updatedNumberScheduled: 0 }, { updateStrategy: { type: 'OnDelete' } }),
      'Current',
      '3 of 3',
    ],
  ]);
});

describe('a ReplicaSet', () => {
  check([
    ['is Current when all replicas are ready', replicaSet(), 'Current', '2 of 2 replicas ready'],
    [
      'says why its pods cannot be made',
      replicaSet({ conditions: [condition('ReplicaFailure', 'True', 'FailedCreate', 'quota')] }),
      'InProgress',
      'FailedCreate: quota',
    ],
    ['waits for labels', replicaSet({ fullyLabeledReplicas: 1 }), 'InProgress', '1 of 2 replicas labelled'],
    [
      'waits for availability',
      replicaSet({ availableReplicas: 1 }),
      'InProgress',
      '1 of 2 replicas available',
    ],
    ['waits for readiness', replicaSet({ readyReplicas: 0 }), 'InProgress', '0 of 2 replicas ready'],
    ['waits for surplus pods to go', replicaSet({ replicas: 3 }), 'InProgress', '1 old pod'],
  ]);
});

describe('a Pod', () => {
  const crash = {
    restartCount: 4,
    lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
  };
  check([
    ['that ran to its end is Current', pod({ phase: 'Succeeded' }), 'Current', 'ran to its end'],
    ['that runs and is ready is Current', pod(), 'Current', 'ready'],
    [
      'that runs and is not ready is InProgress',
      pod({ conditions: [condition('Ready', 'False', 'ContainersNotReady', 'unready: [api]')] }),
      'InProgress',
      'ContainersNotReady: unready: [api]',
    ],
    [
      'that failed is Failed',
      pod({ phase: 'Failed', reason: 'Evicted', message: 'the node was low on memory' }),
      'Failed',
      'it failed: Evicted: the node was low on memory',
    ],
    [
      'that failed by its container tells the exit code',
      pod({ phase: 'Failed', containerStatuses: [{ name: 'api', state: { terminated: { exitCode: 3 } } }] }),
      'Failed',
      'container api ended with exit code 3',
    ],
    [
      'in a crash loop is Failed and tells how it ended',
      waitingPod('CrashLoopBackOff', 'back-off 40s restarting failed container', crash),
      'Failed',
      'container api: CrashLoopBackOff, exit code 137 (OOMKilled), 4 restarts',
    ],
    [
      'whose init container is in a crash loop is Failed',
      pod({
        phase: 'Pending',
        initContainerStatuses: [{ name: 'migrate', state: { waiting: { reason: 'CrashLoopBackOff' } } }],
      }),
      'Failed',
      'container migrate: CrashLoopBackOff',
    ],
    ...(['ErrImagePull', 'ImagePullBackOff', 'ErrImageNeverPull'] as const).flatMap((reason): Row[] => [
      [
        `has time for ${reason}: its image may be on the way`,
        waitingPod(reason, 'no such image'),
        'InProgress',
        `container api: ${reason}: no such image`,
      ],
      [
        `is Failed with ${reason} after that time`,
        waitingPod(reason, 'no such image'),
        'Failed',
        `container api: ${reason}: no such image`,
        LATER,
      ],
    ]),
    [
      'with an image name that is none is Failed at once',
      waitingPod('InvalidImageName', 'a b'),
      'Failed',
      'InvalidImageName: a b',
    ],
    [
      'that waits for its ConfigMap says so',
      waitingPod('CreateContainerConfigError', 'configmap "till" not found'),
      'InProgress',
      'CreateContainerConfigError: configmap "till" not found',
    ],
    ['that is being made is InProgress', waitingPod('ContainerCreating'), 'InProgress', 'starting'],
    ['that no node takes has 15 seconds', unschedulablePod(), 'InProgress', 'Insufficient cpu'],
    [
      'that no node takes is Failed after that',
      unschedulablePod(),
      'Failed',
      'Unschedulable: 0/1 nodes',
      LATER,
    ],
    ['that nobody has seen is InProgress', live('v1', 'Pod', {}), 'InProgress', 'phase is not known'],
  ]);

  it('fails at once when it can never start, and after 30 seconds when its container crashes', () => {
    expect(judge(waitingPod('InvalidImageName'), SOON)).toMatchObject({ patienceMs: 0 });
    expect(judge(waitingPod('CrashLoopBackOff'), SOON)).toMatchObject({ patienceMs: 30_000 });
  });
});

describe('a Job', () => {
  check([
    ['that was not started is InProgress', live('batch/v1', 'Job', {}), 'InProgress', 'has not started'],
    ['that runs is InProgress', job({ active: 1, failed: 2 }), 'InProgress', '1 pod active, 2 failed before'],
    [
      'that is complete is Current',
      job({ conditions: [condition('Complete', 'True')] }),
      'Current',
      'complete',
    ],
    ['that is suspended is Current', job({}, { suspend: true }), 'Current', 'suspended'],
    [
      'that failed is Failed',
      job({ conditions: [condition('Failed', 'True', 'BackoffLimitExceeded', 'Job has reached the limit')] }),
      'Failed',
      'BackoffLimitExceeded: Job has reached the limit',
    ],
  ]);
});

/**
 * The autoscalers of Argo CD's own table (github.com/argoproj/gitops-engine, pkg/health/testdata/hpa-*.yaml, Apache-2.0): type,
 * status and reason of their conditions in the order of each file, and the verdict that its health_test.go expects.
 */
describe('an autoscaler, as Argo CD judges it', () => {
  const hpa = (version: string, conditions: readonly (readonly [string, string, string])[]) => {
    const listed = conditions.map(([type, status, reason]) => condition(type, status, reason));
    const annotation = { 'autoscaling.alpha.kubernetes.io/conditions': JSON.stringify(listed) };
    return live(`autoscaling/${version}`, 'HorizontalPodAutoscaler', {
      metadata: version === 'v1' && listed.length > 0 ? { annotations: annotation } : {},
      status: version === 'v1' ? {} : { conditions: listed },
    });
  };
  const able = ['AbleToScale', 'True', 'ReadyForNewScale'] as const;
  const active = ['ScalingActive', 'True', 'ValidMetricFound'] as const;
  const within = ['ScalingLimited', 'False', 'DesiredWithinRange'] as const;
  const noMetrics = ['ScalingActive', 'False', 'FailedGetResourceMetric'] as const;
  const noScale = ['AbleToScale', 'False', 'FailedGetScale'] as const;
  check([
    ['hpa-v2-healthy', hpa('v2', [able, active, within]), 'Current', 'ReadyForNewScale'],
    ['hpa-v2-degraded', hpa('v2', [noScale, active, within]), 'Failed', 'FailedGetScale'],
    ['hpa-v2-progressing', hpa('v2', [active, within]), 'InProgress', 'does not say yet'],
    ['hpa-v2beta2-healthy', hpa('v2beta2', [able, active, within]), 'Current', ''],
    [
      'hpa-v2beta1-healthy-disabled',
      hpa('v2beta1', [
        ['AbleToScale', 'True', 'SucceededGetScale'],
        ['ScalingActive', 'False', 'ScalingDisabled'],
      ]),
      'Current',
      '',
    ],
    ['hpa-v2beta1-healthy', hpa('v2beta1', [able, active, within]), 'Current', ''],
    [
      'hpa-v1-degraded',
      hpa('v1', [['AbleToScale', 'True', 'FailedGetScale'], noMetrics]),
      'Failed',
      'FailedGetScale',
    ],
    [
      'hpa-v1-healthy, whose metrics are missing',
      hpa('v1', [['AbleToScale', 'True', 'SucceededRescale'], noMetrics]),
      'Current',
      'SucceededRescale',
    ],
    [
      'hpa-v1-healthy-toofew',
      hpa('v1', [able, active, ['ScalingLimited', 'True', 'TooFewReplicas']]),
      'Current',
      '',
    ],
    ['hpa-v1-progressing', hpa('v1', [['AbleToScale', 'False', 'SucceededGetScale']]), 'InProgress', ''],
    ['hpa-v1-progressing-with-no-annotations', hpa('v1', []), 'InProgress', ''],
    ['no row of theirs: metrics missed before anything else', hpa('v2', [noMetrics]), 'Failed', ''],
  ]);
});

describe('other kinds of the cluster', () => {
  const claim = (status: object, spec: object = {}, metadata: object = {}) =>
    live('v1', 'PersistentVolumeClaim', { metadata, spec, status });
  const late = { storageClassName: 'local' };
  const selected = { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } };
  const service = (spec: object, status: object = {}) => live('v1', 'Service', { spec, status });
  const address = { loadBalancer: { ingress: [{ ip: '10.1.1.1' }] } };
  const asked: HealthContext = { ...SOON, loadBalancer: 'address' };
  const crd = (...conditions: object[]) =>
    live('apiextensions.k8s.io/v1', 'CustomResourceDefinition', { status: { conditions } });
  const ingress = (status: object) => live('networking.k8s.io/v1', 'Ingress', { status });
  const apiService = (...conditions: object[]) =>
    live('apiregistration.k8s.io/v1', 'APIService', { status: { conditions } });
  check([
    ['a bound claim is Current', claim({ phase: 'Bound' }), 'Current', 'bound'],
    ['a lost claim is Failed', claim({ phase: 'Lost' }), 'Failed', 'lost'],
    [
      'a pending claim is InProgress',
      claim({ phase: 'Pending' }, { storageClassName: 'fast' }),
      'InProgress',
      'storage class fast',
    ],
    [
      'a claim that waits for its first pod is Current',
      claim({ phase: 'Pending' }, late),
      'Current',
      'first pod',
    ],
    [
      'a claim whose pod has its node is InProgress',
      claim({ phase: 'Pending' }, late, selected),
      'InProgress',
      'not bound',
    ],
    ['a Service is Current', service({ type: 'ClusterIP' }), 'Current', ''],
    [
      'a load balancer without a cluster IP is InProgress',
      service({ type: 'LoadBalancer' }),
      'InProgress',
      'cluster IP',
    ],
    [
      'a load balancer needs no more than that',
      service({ type: 'LoadBalancer', clusterIP: '10.0.0.9' }),
      'Current',
      '',
    ],
    [
      'a load balancer waits for its address where asked',
      service({ type: 'LoadBalancer', clusterIP: '10.0.0.9' }),
      'InProgress',
      'no address',
      asked,
    ],
    [
      'a load balancer with an address is Current',
      service({ type: 'LoadBalancer', clusterIP: '10.0.0.9' }, address),
      'Current',
      '',
      asked,
    ],
    [
      'a definition is Current when Established',
      crd(condition('NamesAccepted', 'True'), condition('Established', 'True')),
      'Current',
      'established',
    ],
    [
      'a definition of a taken name is Failed',
      crd(condition('NamesAccepted', 'False', 'PluralConflict', '"tills" is in use')),
      'Failed',
      'PluralConflict: "tills" is in use',
    ],
    [
      'a definition that is being installed is InProgress',
      crd(condition('Established', 'False', 'Installing')),
      'InProgress',
      '',
    ],
    [
      'a definition that is not established is Failed',
      crd(condition('Established', 'False', 'NotAccepted', 'not all names')),
      'Failed',
      'NotAccepted',
    ],
    ['a definition of no conditions is InProgress', crd(), 'InProgress', ''],
    [
      'an Ingress needs no address: its controller may never publish one',
      ingress({ loadBalancer: {} }),
      'Current',
      'no controller has published an address',
    ],
    ['an Ingress with an address is Current', ingress(address), 'Current', 'address'],
    ['an APIService that is available is Current', apiService(condition('Available', 'True')), 'Current', ''],
    [
      'an APIService that is not says why',
      apiService(condition('Available', 'False', 'MissingEndpoints', 'no endpoints')),
      'InProgress',
      'MissingEndpoints: no endpoints',
    ],
    [
      'a disruption budget waits to be looked at',
      live('policy/v1', 'PodDisruptionBudget', {}),
      'InProgress',
      'not looked',
    ],
    [
      'a disruption budget is Current',
      live('policy/v1', 'PodDisruptionBudget', { status: { observedGeneration: 2, disruptionsAllowed: 1 } }),
      'Current',
      '1 disruptions',
    ],
    ['a CronJob is Current', live('batch/v1', 'CronJob', { spec: { suspend: true } }), 'Current', ''],
    [
      'a Namespace is Current when it is active',
      live('v1', 'Namespace', { status: { phase: 'Active' } }),
      'Current',
      'active',
    ],
    [
      'a Namespace that goes away is Terminating',
      live('v1', 'Namespace', { status: { phase: 'Terminating' } }),
      'Terminating',
      '',
    ],
  ]);

  it('of kinds without a status are Current at once', () => {
    for (const [apiVersion, kind] of [
      ['v1', 'ConfigMap'],
      ['rbac.authorization.k8s.io/v1', 'Role'],
    ] as const) {
      expect(judge(live(apiVersion, kind, {}), SOON)).toMatchObject({ status: 'Current', proven: true });
    }
    expect(hasStatus({ group: '', kind: 'Secret' })).toBe(false);
    expect(hasStatus({ group: 'apps', kind: 'Deployment' })).toBe(true);
    expect(hasStatus({ group: 'gateway.networking.k8s.io', kind: 'Gateway' })).toBe(true);
  });
});

describe('a custom resource', () => {
  check([
    [
      'is Current when Ready',
      custom({ conditions: [condition('Ready', 'True', 'Open', 'till 4')] }),
      'Current',
      'Open: till 4',
    ],
    [
      'is InProgress when not Ready',
      custom({ conditions: [condition('Ready', 'False', 'Opening', 'till 4')] }),
      'InProgress',
      'Opening: till 4',
    ],
    [
      'is InProgress when Ready is Unknown',
      custom({ conditions: [condition('Ready', 'Unknown')] }),
      'InProgress',
      'Ready is Unknown',
    ],
    [
      'is InProgress while Ready speaks of an older generation',
      custom({ conditions: [condition('Ready', 'True', '', '', { observedGeneration: 1 })] }),
      'InProgress',
      'generation 1 of 2',
    ],
  ]);

  it('without a status or conditions is Current but not proven', () => {
    expect(judge(custom(undefined), SOON)).toMatchObject({ status: 'Current', proven: false });
    expect(judge(custom({ conditions: [] }), SOON)).toMatchObject({ status: 'Current', proven: false });
    expect(judge(custom({ observedGeneration: 2 }), SOON)).toMatchObject({ status: 'Current', proven: true });
  });
});

describe('a verdict', () => {
  const kinds = [
    'v1 Namespace',
    'v1 PersistentVolumeClaim',
    'v1 Pod',
    'v1 Service',
    'apiextensions.k8s.io/v1 CustomResourceDefinition',
    'apiregistration.k8s.io/v1 APIService',
    'apps/v1 DaemonSet',
    'apps/v1 Deployment',
    'apps/v1 ReplicaSet',
    'apps/v1 StatefulSet',
    'autoscaling/v2 HorizontalPodAutoscaler',
    'batch/v1 Job',
    'networking.k8s.io/v1 Ingress',
    'policy/v1 PodDisruptionBudget',
    'shop.example/v1 Till',
  ];
  // No rule reads deeper than a field of a field; texts have lines.
  const value = fc.jsonValue({
    maxDepth: 2,
    stringUnit: fc.constantFrom('a', 'Z', '0', ' ', '"', '{', '\n', '\t', '\u2028'),
  });
  // Fields that the rules read, holding anything.
  const part = fc.dictionary(
    fc.constantFrom(
      'conditions',
      'phase',
      'replicas',
      'observedGeneration',
      'containerStatuses',
      'initContainerStatuses',

      'loadBalancer',
      'type',
      'updateStrategy',
      'annotations',
      'deletionTimestamp',
      'finalizers',
      '__proto__',
    ),
    fc.oneof(
      value,
      fc.array(
        fc.record({
          type: fc.constantFrom('Ready', 'Progressing', 'PodScheduled', 'Failed', 'Established'),
          status: value,
          reason: value,
          message: value,
          state: value,
        }),
      ),
    ),
  );
  const anything = fc.oneof(part, value);

  it('has one of six statuses and a message of one line for any JSON, and never throws', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), anything, anything, anything, (type, metadata, spec, status) => {
        const [apiVersion, kind] = type.split(' ');
        const verdict = judge({ apiVersion, kind, metadata, spec, status }, SOON);
        expect(['Current', 'InProgress', 'Failed', 'Terminating', 'NotFound', 'Unknown']).toContain(
          verdict.status,
        );
        expect(verdict.message).not.toMatch(/\n/);
        expect(verdict.message.length).toBeLessThan(1000);
      }),
      { numRuns: runs(500) },
    );
    fc.assert(fc.property(fc.jsonValue(), (value) => judge(value, SOON).status.length > 0));
  });
});
