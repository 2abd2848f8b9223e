import { compareBytes } from '#bundles/digest';
import type { ObjectRef, TypeRef } from '../api/kubernetes-api.ts';
import { keyOf } from '../desired/object-key.ts';

/** Objects that one list and watch cover. */
export type WatchedGroup = {
  readonly type: TypeRef;
  /** undefined: all namespaces, or a cluster-scoped kind. */
  readonly namespace: string | undefined;
  readonly keys: ReadonlySet<string>;
  /** False above the limit for watches: then the group is listed at intervals. */
  readonly watch: boolean;
};

/** Upper bound on watches, because each holds a connection. */
const MAX_WATCHES = 12;

/**
 * Groups objects by kind and namespace. Kinds in the most namespaces are watched over the whole cluster until the limit is met.
 */
export const watchedGroups = (owned: readonly ObjectRef[], most = MAX_WATCHES): readonly WatchedGroup[] => {
  const kinds = new Map<string, ObjectRef[]>();
  for (const ref of owned) {
    const kind = `${ref.apiVersion} ${ref.kind}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), ref]);
  }
  const byNamespace = [...kinds.values()]
    .map((refs) => ({ refs, namespaces: [...new Set(refs.map(({ namespace }) => namespace))] }))
    .toSorted(
      (a, b) =>
        a.namespaces.length - b.namespaces.length ||
        compareBytes(a.refs[0]?.kind ?? '', b.refs[0]?.kind ?? ''),
    );
  const groups: Omit<WatchedGroup, 'watch'>[] = [];
  for (const [index, { refs, namespaces }] of byNamespace.entries()) {
    const left = byNamespace.length - index - 1;
    const fits = groups.length + namespaces.length + left <= most;
    for (const namespace of fits ? namespaces : [undefined]) {
      const some = fits ? refs.filter((ref) => ref.namespace === namespace) : refs;
      groups.push(groupOf(some, namespace));
    }
  }
  return groups.map((group, index) => ({ ...group, watch: index < most }));
};

const groupOf = (refs: readonly ObjectRef[], namespace: string | undefined): Omit<WatchedGroup, 'watch'> => {
  const [{ apiVersion, kind }] = refs as readonly [ObjectRef];
  return { type: { apiVersion, kind }, namespace, keys: new Set(refs.map(keyOf)) };
};
