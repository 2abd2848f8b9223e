/** An object of others' own cases that the agent judges otherwise. */
export type OtherVerdict = {
  /** Its file or variable. */
  readonly file: string;
  readonly what: string;
  readonly theirs: string;
  readonly ours: string;
  readonly why: string;
};

export const GITOPS_ENGINE = {
  version: 'v0.7.3',
  cases: 44,
  differences: [
    {
      file: 'deployment-suspended.yaml',
      what: 'Deployment whose rollout is paused',
      theirs: 'Suspended',
      ours: 'Current',
      why: 'The author has paused it, and the controller does what it is asked to; the message names the field',
    },
    {
      file: 'ingress-unassigned.yaml',
      what: 'Ingress without an address',
      theirs: 'Progressing',
      ours: 'Current',
      why: 'Many controllers publish none, and a release would wait until its timeout',
    },
    {
      file: 'pod-deletion.yaml',
      what: 'Pod that is being deleted',
      theirs: 'Progressing',
      ours: 'Terminating',
      why: 'The same for a release, with since when and the finalizers in the message',
    },
    {
      file: 'pod-error.yaml',
      what: 'Pod whose container has ended with an error and is started again',
      theirs: 'Degraded',
      ours: 'InProgress',
      why: 'It may come up at the next start; the pod fails with its back-off (CrashLoopBackOff)',
    },
    {
      file: 'pod-running-restart-never.yaml',
      what: 'Pod that is ready, with restartPolicy: Never',
      theirs: 'Progressing',
      ours: 'Current',
      why: 'It is ready; a Pod that has to end is a hook, which is waited for until it is complete',
    },
    {
      file: 'pod-running-restart-onfailure.yaml',
      what: 'Pod in CrashLoopBackOff, with restartPolicy: OnFailure',
      theirs: 'Progressing',
      ours: 'Failed',
      why: 'It crashes; the verdict counts after it has lasted for 30 s',
    },
    {
      file: 'svc-loadbalancer-unassigned.yaml',
      what: 'Service of type LoadBalancer without an address',
      theirs: 'Progressing',
      ours: 'Current',
      why: 'Clusters at a site often have nothing that assigns one; kstatus judges as the agent does',
    },
  ],
} as const satisfies { version: string; cases: number; differences: readonly OtherVerdict[] };

/** Cases of status_compute_test.go. */
export const KSTATUS = {
  version: 'v0.37.2',
  cases: 53,
  differences: [
    {
      file: 'jobInProgress',
      what: 'Job that runs',
      theirs: 'Current',
      ours: 'InProgress',
      why: 'A release that brings a Job is healthy when its work is done, not when it has begun',
    },
    {
      file: 'podCompletedFail',
      what: 'Pod that has failed',
      theirs: 'Current',
      ours: 'Failed',
      why: 'kstatus asks whether the controllers are at rest, the agent whether the software runs',
    },
    {
      file: 'podCrashLooping',
      what: 'Pod with a container in CrashLoopBackOff and without a node, which no cluster has',
      theirs: 'Failed',
      ours: 'InProgress',
      why: 'The missing node comes first; with a node the pod fails after 30 s',
    },
    {
      file: 'podUnschedulable',
      what: 'Pod that no node takes',
      theirs: 'Failed',
      ours: 'InProgress',
      why: 'A node may come or become free within the timeout, after which the message names the reason',
    },
    {
      file: 'stsLessCurrent',
      what: 'StatefulSet whose replicas are all ready, with fewer current ones and without revisions',
      theirs: 'InProgress',
      ours: 'Current',
      why: 'The agent counts updated replicas by the revisions in the status, which every controller writes and this case lacks',
    },
  ],
} as const satisfies { version: string; cases: number; differences: readonly OtherVerdict[] };
