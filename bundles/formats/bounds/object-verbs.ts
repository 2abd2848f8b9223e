/** The verbs that the agent uses on an object of a package. The server wants `create` for the first server-side apply. */
export const OBJECT_VERBS = ['get', 'list', 'watch', 'create', 'patch', 'delete'] as const;

/** Resources that the agent reads in a namespace to say why a workload is not healthy, and to leave replicas to autoscalers. */
export const WORKLOAD_READS = [
  { group: '', resource: 'pods' },
  { group: 'apps', resource: 'replicasets' },
  { group: '', resource: 'events' },
  { group: 'autoscaling', resource: 'horizontalpodautoscalers' },
] as const;

/** Resource that the agent reads in the namespace of a Service behind a webhook of admission, to wait until it has a ready endpoint. */
export const WEBHOOK_READS = { group: 'discovery.k8s.io', resource: 'endpointslices' } as const;
