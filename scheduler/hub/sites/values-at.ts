import { givenValues, valueDifferences } from '#bundles/formats/author-schema/decided-values';
import type { Digest } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { ownValue } from '#bundles/own-value';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { Database, SiteValuesVersionRow, Tx } from '../store/tables.ts';

/** A value that people gave, and its last change. `agent` null: of the site. */
export type DecidedValue = {
  readonly agent: string | null;
  readonly name: string;
  readonly value: Json;
  readonly since: Timestamp;
  /** Of the site statement that brought it. */
  readonly version: number;
  /** null: the program, by a rule; or the value is older than the record. */
  readonly person: string | null;
  readonly reason: string | null;
  /** The site had the value when the record of its values began, so `since` is the latest it can be. */
  readonly atLeast: boolean;
};

/** The values of a site as they were at a time. */
export type ValuesAt = {
  readonly site: string;
  readonly version: number;
  readonly digest: Digest;
  readonly since: Timestamp;
  readonly document: SiteValues;
  /** Of the site first, then of its agents, sorted by name. */
  readonly values: readonly DecidedValue[];
};

type Until = { readonly at?: Timestamp | undefined; readonly version?: number | undefined };

/**
 * The values that a site had at a time, or with a version of its statement, each with who gave it, when and why; undefined before the record
 * of its values began, or the time that retention keeps.
 */
export const valuesAt = async (
  db: Database | Tx,
  site: string,
  { at, version }: Until = {},
): Promise<ValuesAt | undefined> => {
  let query = db
    .selectFrom('site_values_version')
    .selectAll()
    .where('site', '=', site)
    .orderBy('version', 'desc');
  if (at !== undefined) query = query.where('at', '<=', at);
  if (version !== undefined) query = query.where('version', '<=', version);
  const last = await query.where('thinned', '=', 0).limit(1).executeTakeFirst();
  if (!last) return undefined;
  const document = documentOf(last);
  const open = new Map(
    valueDifferences({ ...document, values: {}, agents: {} }, document).map(
      ({ agent = null, name, new: value = null }) => [
        JSON.stringify([agent, name]),
        { agent, name, value } as const,
      ],
    ),
  );
  const order = [...open.keys()];
  const found = new Map<string, DecidedValue>();
  const settle = (key: string, row: SiteValuesVersionRow, isFirst: boolean): void => {
    const one = open.get(key);
    if (!one) return;
    const { at: since, person, reason } = row;
    const atLeast = isFirst && person === null;
    found.set(key, { ...one, since, version: row.version, person, reason, atLeast });
    open.delete(key);
  };
  // Backwards, until the last change of each value is found.
  let after = last;
  const earlier = query.where('version', '<', last.version);
  for (let skip = 0; open.size > 0; skip += PAGE) {
    const rows = await earlier.offset(skip).limit(PAGE).execute();
    for (const row of rows) {
      const before = documentOf(row);
      for (const [key, { agent, name, value }] of open)
        if (!isSameJson(ownValue(givenValues(before, agent ?? undefined), name), value))
          settle(key, after, false);
      after = row;
    }
    if (rows.length < PAGE) for (const key of open.keys()) settle(key, after, true);
  }
  const values = order.flatMap((key) => found.get(key) ?? []);
  return { site, version: last.version, digest: last.digest, since: last.at, document, values };
};

/** Documents that are read at a time: most values of a site changed lately. */
const PAGE = 20;

const documentOf = ({ document }: SiteValuesVersionRow): SiteValues => parseJson(document) as SiteValues;

/** One document of a site's record that changed values, without those that it left. */
export type ValuesVersion = Pick<SiteValuesVersionRow, 'version' | 'at' | 'person' | 'reason'>;

/** The versions of a site's values that the record has whole, newest first. */
export const valuesVersions = (
  db: Database | Tx,
  site: string,
  limit: number,
): Promise<readonly ValuesVersion[]> =>
  db
    .selectFrom('site_values_version')
    .select(['version', 'at', 'person', 'reason'])
    .where('site', '=', site)
    .where('thinned', '=', 0)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
