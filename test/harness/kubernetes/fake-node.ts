const CAPACITY = { cpu: '32', memory: '256Gi', pods: '1000' };

/** A node that kwok takes care of. */
export const fakeNode = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } },
  status: { capacity: CAPACITY, allocatable: CAPACITY },
});

type Node = {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

export const isNodeReady = (node: unknown): boolean =>
  (node as Node).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ??
  false;
