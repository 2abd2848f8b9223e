import { isRecord } from '#bundles/is-record';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { isItemOf, isSameItem, memberOf, type FieldSet } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';
import { isByHand, isTool } from './foreign-managers.ts';

/** Managers that are stored for one object. */
const MAX_MANAGERS = 10;

/**
 * The field managers of what deployed an object before us, when it is adopted: those that own a field which the package sets as well.
 * A controller that only adds fields is not a deployment tool.
 */
export const deployersOf = (live: LiveObject, wanted: LiveObject): readonly string[] =>
  [
    ...new Set(
      (live.metadata.managedFields ?? [])
        .filter(
          (entry) =>
            !isOwnEntry(entry) && !entry.subresource && sharesField(entry.fieldsV1 ?? {}, live, wanted),
        )
        .flatMap(({ manager }) => manager ?? []),
    ),
  ].slice(0, MAX_MANAGERS);

/** True if a leaf of the set is a field of the package, besides metadata. */
const sharesField = ({ 'f:metadata': _, ...set }: FieldSet, live: unknown, wanted: unknown): boolean =>
  Object.entries(set).some(([entry, below]) => {
    if (entry === '.') return false;
    const [, one] = memberOf(entry, live, isSameItem) ?? [];
    const [, other] = memberOf(entry, wanted, isItemOf) ?? [];
    if (one === undefined || other === undefined) return false;
    const isLeaf = !isRecord(below) || Object.keys(below).every((inner) => inner === '.');
    return isLeaf || sharesField(below, one, other);
  });

/** True for a manager whose fields beside the package's are reported: people, deployment tools and what deployed the object before us. */
export const isReported = (entry: ManagedFields, before: readonly string[] = []): boolean =>
  isByHand(entry) || isTool(entry) || (!entry.subresource && before.includes(entry.manager ?? ''));
