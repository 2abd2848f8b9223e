type Fields = Record<string, unknown>;

/** An object as text, without what the server and its controllers count. */
export const withoutCounters = ({ status: _, ...object }: Fields): string => {
  const {
    resourceVersion: _r,
    generation: _g,
    annotations = {},
    managedFields = [],
    ...metadata
  } = object['metadata'] as Fields;
  const {
    'deployment.kubernetes.io/revision': _n,
    'deprecated.daemonset.template.generation': _t,
    ...notes
  } = annotations as Fields;
  const managers = (managedFields as readonly Fields[])
    .filter(({ manager, subresource }) => subresource === undefined && manager !== 'kube-controller-manager')
    .map(({ time: _time, ...entry }) => JSON.stringify(entry))
    .toSorted();
  return JSON.stringify({ ...object, metadata: { ...metadata, annotations: notes, managers } });
};
