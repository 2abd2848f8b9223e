import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import type { Digest } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
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
 * of its values began.
 */
export const valuesAt = async (
  db: Database | Tx,
  site: string,
  { at, version }: Until = {},
): Promise<ValuesAt | undefined> => {
  let query = db.selectFrom('site_values_version').selectAll().where('site', '=', site).orderBy('version');
  if (at !== undefined) query = query.where('at', '<=', at);
  if (version !== undefined) query = query.where('version', '<=', version);
  const rows = await query.execute();
  const last = rows.at(-1);
  if (!last) return undefined;
  const known = new Map<string, DecidedValue>();
  let before: SiteValues = { ...documentOf(last), values: {}, agents: {} };
  for (const row of rows) {
    const document = documentOf(row);
    for (const { agent = null, name, new: value } of valueDifferences(before, document)) {
      const key = JSON.stringify([agent, name]);
      if (value === undefined) known.delete(key);
      else {
        const { at: since, person, reason } = row;
        const atLeast = row === rows[0] && person === null;
        known.set(key, { agent, name, value, since, version: row.version, person, reason, atLeast });
      }
    }
    before = document;
  }
  const values = valueDifferences({ ...before, values: {}, agents: {} }, before).flatMap(
    ({ agent = null, name }) => known.get(JSON.stringify([agent, name])) ?? [],
  );
  const { version: newest, digest, at: since } = last;
  return { site, version: newest, digest, since, document: before, values };
};

const documentOf = ({ document }: SiteValuesVersionRow): SiteValues => parseJson(document) as SiteValues;

/** One document of a site's record that changed values, without those that it left. */
export type ValuesVersion = Pick<SiteValuesVersionRow, 'version' | 'at' | 'person' | 'reason'>;

/** The versions of a site's values, newest first. */
export const valuesVersions = (
  db: Database | Tx,
  site: string,
  limit: number,
): Promise<readonly ValuesVersion[]> =>
  db
    .selectFrom('site_values_version')
    .select(['version', 'at', 'person', 'reason'])
    .where('site', '=', site)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
