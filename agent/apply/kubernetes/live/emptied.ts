import { isRecord } from '../../../model/parse-manifests.ts';
import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { covers } from './besides.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, tokenOf } from './field-set.ts';
import { isOurs } from './fingerprint.ts';

/**
 * The patch that empties maps and lists which are empty in the package and of which we wrote every member. When server-side apply removes the
 * last member of a map that the manifest has as `{}`, it writes `null` and then refuses that `null` by the schema of a custom resource
 * (Kubernetes 1.35). The patch also takes the members out of the record of what we own: one with a default is there again at once, and would
 * stay ours.
 */
export const emptied = (live: LiveObject, wanted: LiveObject): readonly JsonPatch[] => {
  const entries = live.metadata.managedFields ?? [];
  const index = entries.findIndex(isOurs);
  const { 'f:metadata': _, ...fields } = entries[index]?.fieldsV1 ?? {};
  return within(fields, live, wanted, { path: '', owned: `/metadata/managedFields/${index}/fieldsV1` });
};

/** JSON pointers (RFC 6901) of a field, and of what we own of it. */
type At = { readonly path: string; readonly owned: string };

const within = (set: FieldSet, live: unknown, wanted: unknown, at: At): readonly JsonPatch[] =>
  Object.entries(set).flatMap(([entry, below]): readonly JsonPatch[] => {
    if (entry === '.' || !isRecord(below)) return [];
    const [token, one] = memberOf(entry, live, isSameItem) ?? [];
    const [, other] = memberOf(entry, wanted, isItemOf) ?? [];
    if (token === undefined || other === undefined) return [];
    const inner = { path: `${at.path}/${tokenOf(token)}`, owned: `${at.owned}/${tokenOf(entry)}` };
    if (!isEmpty(other)) return within(below, one, other, inner);
    const isOwn = Object.keys(below).some((member) => member !== '.') && covers(below, one);
    if (!isOwn) return [];
    return [
      { op: 'replace', path: inner.path, value: other },
      { op: 'replace', path: inner.owned, value: {} },
    ];
  });

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;

/**
 * True if a map or list that is empty in the package became `null` or went in an apply that removed its members; a second apply stores it
 * empty.
 */
export const isCutShort = (wanted: unknown, stored: unknown): boolean => {
  if (isEmpty(wanted)) return stored === null || stored === undefined;
  if (!isRecord(wanted) || !isRecord(stored)) return false;
  return Object.entries(wanted).some(([key, value]) => isCutShort(value, stored[key]));
};
