import { defined } from '#bundles/defined';
import type { LiveObject } from '../../api/kubernetes-api.ts';
import { textOf } from '../live-field.ts';
import { judgePod } from '../rules/pod.ts';
import type { Verdict } from '../verdict.ts';

/** Kinds whose health depends on their pods. */
const WORKLOADS: ReadonlySet<string> = new Set([
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
  'batch/Job',
]);

export const isWorkload = (group: string, kind: string): boolean => WORKLOADS.has(`${group}/${kind}`);

/** Keeps only the fields for verdict and owner, because a namespace may have thousands of pods. */
export const trimPod = ({ apiVersion, kind, metadata, status }: LiveObject): LiveObject => ({
  apiVersion,
  kind,
  metadata: defined({
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    labels: metadata.labels,
    ownerReferences: metadata.ownerReferences,
    creationTimestamp: metadata.creationTimestamp,
    deletionTimestamp: metadata.deletionTimestamp,
  }),
  status,
});

/** The pods of a workload's newest revision; older ones say nothing about this package. */
export const podsOf = (
  workload: LiveObject,
  pods: Iterable<LiveObject>,
  replicaSets: Iterable<LiveObject>,
): readonly LiveObject[] => {
  const owner = workload.kind === 'Deployment' ? newestReplicaSet(workload, replicaSets) : workload;
  if (!owner) return [];
  return [...pods].filter(
    (pod) => isOwnedBy(pod, owner) && pod.metadata.deletionTimestamp === undefined && isNewest(workload, pod),
  );
};

const REVISION = 'deployment.kubernetes.io/revision';

const newestReplicaSet = (
  deployment: LiveObject,
  replicaSets: Iterable<LiveObject>,
): LiveObject | undefined => {
  const revision = deployment.metadata.annotations?.[REVISION];
  return [...replicaSets].find(
    (one) => isOwnedBy(one, deployment) && one.metadata.annotations?.[REVISION] === revision,
  );
};

const isOwnedBy = ({ metadata }: LiveObject, { metadata: { uid } }: LiveObject): boolean =>
  metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true;

const isNewest = (workload: LiveObject, pod: LiveObject): boolean => {
  const { labels } = pod.metadata;
  switch (workload.kind) {
    case 'StatefulSet': {
      const revision = textOf(workload, 'status', 'updateRevision');
      return revision === undefined || labels?.['controller-revision-hash'] === revision;
    }
    case 'DaemonSet': {
      const generation = workload.metadata.annotations?.['deprecated.daemonset.template.generation'];
      return generation === undefined || labels?.['pod-template-generation'] === generation;
    }
    default:
      return true;
  }
};

/**
 * Adds the state of its pods to the verdict of an unfinished workload: the reason why it waits, and Failed if a pod is. A crashed pod of
 * a Job is left to the Job's backoff limit, and a pod that ended is replaced, so neither fails the workload.
 */
export const withPods = (
  verdict: Verdict,
  workload: LiveObject,
  pods: readonly LiveObject[],
  now: Date,
): Verdict => {
  const unhealthy = pods
    .map((pod) => ({ pod, said: judgePod(pod, { now }) }))
    .filter(({ pod, said }) => said.status !== 'Current' && textOf(pod, 'status', 'phase') !== 'Failed');
  const failed = unhealthy.filter(({ said }) => said.status === 'Failed');
  const [first] = (failed.length > 0 ? failed : unhealthy).toSorted((a, b) =>
    a.pod.metadata.name < b.pod.metadata.name ? -1 : 1,
  );
  if (!first) return verdict;
  const others = (failed.length > 0 ? failed : unhealthy).length - 1;
  const more = others > 0 ? ` (and ${others} more ${others === 1 ? 'pod' : 'pods'})` : '';
  const message = `${verdict.message}; pod ${first.pod.metadata.name}: ${first.said.message}${more}`;
  const isCrash = first.said.message.includes('CrashLoopBackOff');
  if (first.said.status !== 'Failed' || (workload.kind === 'Job' && isCrash)) return { ...verdict, message };
  return { status: 'Failed', message, patienceMs: first.said.patienceMs };
};
