import { defined } from '#bundles/defined';
import type { Place } from '#bundles/errors';
import type { Manifest, Unit } from '../imported.ts';
import { kindOf, nameOf } from './manifests.ts';

/** A Namespace that a tool creates by a setting. @param metadata its labels and annotations */
export const namespaceUnit = (namespace: string, at: Place, metadata: Manifest = {}): Unit => {
  const { labels, annotations } = metadata;
  return {
    id: `Namespace//${namespace}`,
    name: `namespace-${namespace}`,
    qualifier: '',
    workspace: '',
    at,
    namespace,
    dependsOn: [],
    content: {
      kind: 'objects',
      objects: [
        { apiVersion: 'v1', kind: 'Namespace', metadata: defined({ name: namespace, labels, annotations }) },
      ],
    },
    annotations: [],
  };
};

/** Without Namespaces that are created twice, that another unit brings, or that every cluster has. */
export const withoutTwice = (units: readonly Unit[]): readonly Unit[] => {
  const brought = new Set(
    units
      .filter(({ id }) => !isCreated(id))
      .flatMap(({ content }) => content.objects ?? [])
      .filter((one) => kindOf(one) === 'Namespace')
      .map(nameOf),
  );
  const seen = new Set<string>();
  const kept = units.filter(({ id, namespace }) => {
    if (!isCreated(id)) return true;
    if (seen.has(id) || brought.has(namespace) || namespace === 'default' || namespace === 'kube-system')
      return false;
    seen.add(id);
    return true;
  });
  const ids = new Set(kept.map(({ id }) => id));
  return kept.map((unit) => ({
    ...unit,
    dependsOn: unit.dependsOn.filter((id) => ids.has(id) && id !== unit.id),
  }));
};

const isCreated = (id: string): boolean => id.startsWith('Namespace//');
