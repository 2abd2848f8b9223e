import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { isRecord } from '#bundles/is-record';
import { type FieldSet, isItemOf, isSameItem, memberOf, pathsOf, segmentOf, tokenOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

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
    .filter((entry) => !isOwnEntry(entry) && !entry.subresource && isMeant(entry))
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
    const holder = `${at.holder}/${tokenOf(token)}`;
    return isRecord(below) ? within(below, { live, wanted, path, holder }) : [];
  });
