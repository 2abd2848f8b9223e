import { isRecord } from '../../../model/parse-manifests.ts';
import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { covers } from './besides.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, tokenOf } from './field-set.ts';
import { isOurs } from './fingerprint.ts';

/**
 * The patch that empties maps and lists which are empty in the package and of which we wrote every member. When server-side apply removes the
 * last member of a map that the manifest has as `{}`, it writes `null` and then refuses that `null` by the schema of a custom resource
 * (Kubernetes 1.35).
 */
export const emptied = (live: LiveObject, wanted: LiveObject): readonly JsonPatch[] => {
  const { 'f:metadata': _, ...fields } = live.metadata.managedFields?.find(isOurs)?.fieldsV1 ?? {};
  return within(fields, live, wanted, '');
};

const within = (set: FieldSet, live: unknown, wanted: unknown, at: string): readonly JsonPatch[] =>
  Object.entries(set).flatMap(([entry, below]) => {
    if (entry === '.' || !isRecord(below)) return [];
    const [token, one] = memberOf(entry, live, isSameItem) ?? [];
    const [, other] = memberOf(entry, wanted, isItemOf) ?? [];
    if (token === undefined || other === undefined) return [];
    const path = `${at}/${tokenOf(token)}`;
    if (!isEmpty(other)) return within(below, one, other, path);
    const isOwn = Object.keys(below).some((inner) => inner !== '.') && covers(below, one);
    return isOwn ? [{ op: 'replace', path, value: other }] : [];
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
