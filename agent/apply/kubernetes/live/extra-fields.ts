import { isRecord } from '#bundles/is-record';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, segmentOf, tokenOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** A field of the live object in an object that the package also has, and that the package has without this field. */
export type ExtraField = {
  /** 'spec.template.spec.volumes[name=data].emptyDir' */
  readonly path: string;
  /** JSON pointers (RFC 6901) of the object that has it, and of the field. */
  readonly holder: string;
  readonly pointer: string;
  /** The package's value of the object that has it, and the live one. */
  readonly wanted: Fields;
  readonly live: Fields;
  /** The writer: us alone, a manager by name, or nobody, as (a part of) it is a default of the server or of a webhook. */
  readonly owner: 'us' | 'nobody' | { readonly manager: string };
};

type Fields = { readonly [field: string]: unknown };

/** Written by the server, or no part of what a package says. */
const NOT_COMPARED = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** All such fields, the outermost of each place. List items are found by the keys that the server uses for them. */
export const extraFieldsOf = (live: LiveObject, wanted: LiveObject): readonly ExtraField[] => {
  const entries = (live.metadata.managedFields ?? []).filter(({ subresource }) => !subresource);
  const at = { entries: entries.map((entry) => ({ entry, set: entry.fieldsV1 })), path: '', holder: '' };
  return within(live, wanted, at).filter(({ holder }) => holder !== '');
};

type Owner = { readonly entry: ManagedFields; readonly set: FieldSet | undefined };
type At = { readonly entries: readonly Owner[]; readonly path: string; readonly holder: string };

const within = (live: unknown, wanted: unknown, at: At): readonly ExtraField[] => {
  if (isRecord(live) && isRecord(wanted)) return ofObject(live, wanted, at);
  if (!Array.isArray(live) || !Array.isArray(wanted)) return [];
  const keys = new Set(at.entries.flatMap(({ set = {} }) => Object.keys(set)));
  return [...keys].flatMap((entry) => {
    if (!entry.startsWith('k:')) return [];
    const [index, one] = memberOf(entry, live, isSameItem) ?? [];
    const [, other] = memberOf(entry, wanted, isItemOf) ?? [];
    return index === undefined || other === undefined ? [] : within(one, other, below(at, entry, index));
  });
};

const ofObject = (live: Fields, wanted: Fields, at: At): readonly ExtraField[] =>
  Object.entries(live).flatMap(([key, value]) => {
    if (at.holder === '' && NOT_COMPARED.has(key)) return [];
    const inner = below(at, `f:${key}`, key);
    if (wanted[key] !== undefined && wanted[key] !== null) return within(value, wanted[key], inner);
    const { path, holder: pointer, entries } = inner;
    return [{ path, holder: at.holder, pointer, wanted, live, owner: ownerOf(entries, value) }];
  });

const below = ({ entries, path, holder }: At, entry: string, token: string): At => ({
  entries: entries.flatMap(({ entry: of, set }) => {
    const inner = set?.[entry];
    return isRecord(inner) ? [{ entry: of, set: inner }] : [];
  }),
  path: path + segmentOf(entry, path === ''),
  holder: `${holder}/${tokenOf(token)}`,
});

const ownerOf = (entries: readonly Owner[], value: unknown): ExtraField['owner'] => {
  const other = entries.find(({ entry }) => !isOwnEntry(entry));
  if (other) return { manager: other.entry.manager ?? 'an unnamed manager' };
  return entries.some(({ set = {} }) => covers(set, value)) ? 'us' : 'nobody';
};

/** False if a part of the value is in no entry: the `scheme` of a probe that the package gave only a port. */
const covers = (set: FieldSet, value: unknown): boolean => {
  const entries = Object.keys(set).filter((entry) => entry !== '.');
  if (entries.length === 0) return true;
  const members = entries.map((entry) => [set[entry], memberOf(entry, value, isSameItem)] as const);
  const size = Array.isArray(value) || isRecord(value) ? Object.keys(value).length : 0;
  const found = members.filter(([, member]) => member !== undefined);
  return (
    found.length === size && found.every(([inner, member]) => !isRecord(inner) || covers(inner, member?.[1]))
  );
};
