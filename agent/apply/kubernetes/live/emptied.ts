import { isRecord } from '#bundles/is-record';
import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { FIELD_MANAGER } from '../api/open-kubernetes-api.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, tokenOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/**
 * The patch that empties maps and lists which are empty in the package and of which nobody else has written a member. When server-side apply
 * removes the last member of a map that the manifest has as `{}`, it writes `null` and then refuses that `null` by the schema of a custom
 * resource (Kubernetes 1.35). The patch also takes the members out of the record of what we own: one with a default is there again at once,
 * and would stay ours.
 * @param isMeant for the path of a field: 'spec.items.options'
 */
export const emptied = (
  live: LiveObject,
  wanted: LiveObject,
  isMeant: (path: string) => boolean,
): readonly JsonPatch[] => {
  const entries = live.metadata.managedFields ?? [];
  const index = entries.findIndex(isOwnEntry);
  const { 'f:metadata': _, ...own } = entries[index]?.fieldsV1 ?? {};
  const others = entries.filter(({ manager }) => manager !== FIELD_MANAGER);
  return within(own, live, wanted, {
    path: '',
    owned: `/metadata/managedFields/${index}/fieldsV1`,
    others: others.flatMap(({ fieldsV1 }): readonly FieldSet[] => (fieldsV1 ? [fieldsV1] : [])),
    isMeant,
  });
};

type At = {
  /** JSON pointers (RFC 6901) of a field, and of what we own of it. */
  readonly path: string;
  readonly owned: string;
  /** Parts of it that other managers own. */
  readonly others: readonly FieldSet[];
  readonly isMeant: (path: string) => boolean;
};

const within = (set: FieldSet, live: unknown, wanted: unknown, at: At): readonly JsonPatch[] =>
  Object.entries(set).flatMap(([entry, below]): readonly JsonPatch[] => {
    if (entry === '.' || !isRecord(below)) return [];
    const [token, one] = memberOf(entry, live, isSameItem) ?? [];
    const [, other] = memberOf(entry, wanted, isItemOf) ?? [];
    if (token === undefined || other === undefined) return [];
    const inner = {
      path: `${at.path}/${tokenOf(token)}`,
      owned: `${at.owned}/${tokenOf(entry)}`,
      others: at.others.flatMap((theirs) => recordIn(theirs, entry)),
      isMeant: at.isMeant,
    };
    if (!isEmpty(other)) return within(below, one, other, inner);
    const isTheirs = inner.others.some((theirs) => hasMembers(theirs));
    if (!hasMembers(below) || isTheirs || !at.isMeant(placeOf(inner.path))) return [];
    return [
      { op: 'replace', path: inner.path, value: other },
      { op: 'replace', path: inner.owned, value: {} },
    ];
  });

const recordIn = (set: FieldSet, entry: string): readonly FieldSet[] => {
  const below = set[entry];
  return isRecord(below) ? [below] : [];
};

const hasMembers = (set: FieldSet): boolean => Object.keys(set).some((member) => member !== '.');

/** '/spec/items/0/options' -> 'spec.items.options' */
const placeOf = (pointer: string): string =>
  pointer
    .slice(1)
    .replaceAll(/\/\d+(?=\/|$)/g, '')
    .replaceAll('/', '.');

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
