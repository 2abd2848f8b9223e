import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { ListOptions, TypeRef } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { hasStatus } from '../judge.ts';

/** Objects that one list and watch cover. */
export type Group = {
  readonly type: TypeRef;
  readonly options: ListOptions;
  readonly objects: readonly WantedObject[];
  readonly watch: boolean;
  /** Interval between lists of a group that is not watched. */
  readonly pollMs: number;
};

/** Number of namespaces from which one list of the whole cluster is cheaper. */
const MAX_NAMESPACES = 16;
/** Upper bound on watches, because each holds a connection. Further groups are listed at intervals. */
const MAX_WATCHES = 6;
const POLL_MS = 2000;
/** List interval for kinds without a status, which change only when they are deleted. */
const STILL_POLL_MS = 10_000;

/**
 * Groups objects by kind and namespace; a group of one object is limited to its name. Kinds without a status are not watched, and only
 * their metadata is read.
 */
export const groupObjects = (objects: readonly WantedObject[]): readonly Group[] => {
  const byKind = groupBy(objects, ({ apiVersion, kind }) => `${apiVersion} ${kind}`);
  const groups = byKind.flatMap((ofKind) => {
    const byNamespace = groupBy(ofKind, ({ namespace }) => namespace ?? '');
    return byNamespace.length > MAX_NAMESPACES
      ? [groupOfObjects(ofKind, undefined)]
      : byNamespace.map((some) => groupOfObjects(some, some[0]?.namespace));
  });
  const spoken = groups.filter(({ watch }) => watch);
  const watched = new Set(
    spoken.toSorted((a, b) => b.objects.length - a.objects.length).slice(0, MAX_WATCHES),
  );
  return groups.map((group) => ({ ...group, watch: watched.has(group) }));
};

const groupOfObjects = (objects: readonly WantedObject[], namespace: string | undefined): Group => {
  const [first] = objects as readonly [WantedObject];
  const { apiVersion, kind, name } = first;
  const spoken = hasStatus(first) || objects.some(({ policy }) => policy.health !== undefined);
  return {
    type: { apiVersion, kind },
    options: {
      namespace,
      ...defined({
        fieldSelector: objects.length === 1 ? `metadata.name=${name}` : undefined,
        metadataOnly: !spoken ? true : undefined,
      }),
    },
    objects,
    watch: spoken,
    pollMs: spoken ? POLL_MS : STILL_POLL_MS,
  };
};

const groupBy = <T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups].toSorted(([a], [b]) => compareBytes(a, b)).map(([, group]) => group);
};
