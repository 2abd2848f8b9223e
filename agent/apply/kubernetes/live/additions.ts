import { parseExactJson } from '#bundles/json/exact-json';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { isRecord } from '../../../model/parse-manifests.ts';
import { type FieldSet, pathsOf, segmentOf } from './field-set.ts';
import { isOurs } from './fingerprint.ts';

/** A field or list item of another manager that the package does not have. */
export type Addition = {
  /** 'spec.ports[port=81,protocol=TCP]' */
  readonly path: string;
  readonly manager: string;
  /** Paths of its leaves: 'spec.ports[port=81,protocol=TCP].name'. */
  readonly fields: readonly string[];
  /** Path and JSON pointer (RFC 6901) of the parent object or list. */
  readonly place: string;
  readonly holder: string;
  /** The package's value at the parent. */
  readonly wanted: unknown;
};

/** Returns fields that other managers added, except managers of subresources. */
export const additionsOf = (
  live: LiveObject,
  wanted: LiveObject,
  isMeant: (entry: ManagedFields) => boolean = () => true,
): readonly Addition[] =>
  (live.metadata.managedFields ?? [])
    .filter((entry) => !isOurs(entry) && !entry.subresource && isMeant(entry))
    .flatMap(({ manager = 'an unnamed manager', fieldsV1 = {} }) =>
      within(fieldsV1, { live, wanted, path: '', holder: '' }).map((found) => ({ ...found, manager })),
    );

type At = {
  readonly live: unknown;
  readonly wanted: unknown;
  readonly path: string;
  readonly holder: string;
};

const within = (set: FieldSet, at: At): readonly Omit<Addition, 'manager'>[] =>
  Object.entries(set).flatMap(([entry, below]) => {
    if (entry === '.') return [];
    const path = at.path + segmentOf(entry, at.path === '');
    const [token, live] = memberOf(entry, at.live, isSameItem) ?? [];
    // managedFields may name fields that the server has dropped since.
    if (token === undefined) return [];
    const [, wanted] = memberOf(entry, at.wanted, isItemOf) ?? [];
    if (wanted === undefined) {
      const leaves = isRecord(below) ? pathsOf(below, path) : [];
      const fields = leaves.length > 0 ? leaves : [path];
      return [{ path, fields, place: at.path, holder: at.holder, wanted: at.wanted }];
    }
    const holder = `${at.holder}/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    return isRecord(below) ? within(below, { live, wanted, path, holder }) : [];
  });

type Keys = Readonly<Record<string, unknown>>;

const isSameItem = (item: Keys, keys: Keys): boolean =>
  Object.entries(keys).every(([name, key]) => item[name] === key);

/** Compares list items by their keys; a manifest may omit a key with a default, such as the protocol of a port. */
const isItemOf = (item: Keys, keys: Keys): boolean =>
  Object.entries(keys).every(([name, key]) => item[name] === undefined || item[name] === key);

const memberOf = (
  entry: string,
  value: unknown,
  isItem: (item: Keys, keys: Keys) => boolean,
): readonly [token: string, member: unknown] | undefined => {
  const text = entry.slice(2);
  if (entry.startsWith('f:'))
    return isRecord(value) && Object.hasOwn(value, text) ? [text, value[text]] : undefined;
  if (!Array.isArray(value)) return undefined;
  const said: unknown = entry.startsWith('i:') ? Number(text) : parseExactJson(text);
  const index = entry.startsWith('i:')
    ? Number(text)
    : value.findIndex((item) => (isRecord(item) && isRecord(said) ? isItem(item, said) : item === said));
  return index in value ? [String(index), value[index] as unknown] : undefined;
};
