import type { Timestamp } from '#bundles/time';
import { fillingOf } from '../../sites/medium/note-medium.ts';
import { parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';
import type { ActualFilter } from '../state/read-actual.ts';

/** A medium that left the office and has not come back. */
export type UnderwayMedium = {
  readonly createdAt: Timestamp;
  readonly recordedAt: Timestamp;
  readonly releases: readonly string[];
  readonly sites: readonly string[];
  /** Those of `sites` at which an agent reported one of `releases`, or a newer one of its channel. */
  readonly arrived: readonly string[];
};

/** Newest records that are looked at, and media that are listed. */
const RECORDS = 200;
const LISTED = 50;

/**
 * Lists media that are on their way, the newest first, for readers of everything. A medium has come back once the hub took reports from
 * its volume; of a record without a volume, from a medium with the same table of contents.
 */
export const listUnderway = async (
  db: Database,
  { environment, site, visible }: ActualFilter,
): Promise<readonly UnderwayMedium[]> => {
  if (visible !== undefined) return [];
  const rows = await db
    .selectFrom('medium_departure')
    .selectAll()
    .where('returned_at', 'is', null)
    .orderBy('recorded_at', 'desc')
    .orderBy('filling')
    .limit(RECORDS)
    .execute();
  if (rows.length === 0) return [];
  const back = await readReturned(db, [...new Set(rows.map(({ created_at: at }) => at))]);
  const media = rows.flatMap(({ filling, created_at: createdAt, recorded_at: recordedAt, ...row }) => {
    if (back.has(filling)) return [];
    const releases = JSON.parse(row.releases) as string[];
    const sites = JSON.parse(row.sites) as string[];
    const isAsked =
      (site === undefined || sites.includes(site)) &&
      (environment === undefined || releases.some((one) => one.startsWith(`${environment}/`)));
    return isAsked ? [{ createdAt, recordedAt, releases, sites }] : [];
  });
  const listed = media.slice(0, LISTED);
  const has = await readReleases(db, [...new Set(listed.flatMap(({ sites }) => sites))]);
  return listed.map((medium) => ({
    ...medium,
    arrived: medium.sites.filter((one) => isAt(medium, has.get(one))),
  }));
};

const readReturned = async (db: Database, times: readonly Timestamp[]): Promise<ReadonlySet<string>> => {
  const rows = await db.selectFrom('medium_return').selectAll().where('created_at', 'in', times).execute();
  return new Set(
    rows.map(({ created_at: createdAt, releases, sites }) =>
      fillingOf({
        createdAt,
        releases: JSON.parse(releases) as string[],
        sites: JSON.parse(sites) as string[],
      }),
    ),
  );
};

/** The newest releases that the agents of sites reported, by site. */
type Accepted = readonly { readonly channel: string | null; readonly version: number | null }[];

const readReleases = async (
  db: Database,
  sites: readonly string[],
): Promise<ReadonlyMap<string, Accepted>> => {
  const found = new Map<string, Accepted>();
  for (const part of parts(sites)) {
    const rows = await db
      .selectFrom('agent')
      .select(['site', 'release_channel as channel', 'release_version as version'])
      .where('revoked_at', 'is', null)
      .where('site', 'in', part)
      .execute();
    for (const [site, of] of Map.groupBy(rows, (row) => row.site)) found.set(site, of);
  }
  return found;
};

const isAt = ({ releases }: { readonly releases: readonly string[] }, accepted: Accepted = []): boolean =>
  accepted.some(({ channel, version }) =>
    releases.some((release) => {
      const [name, number] = release.split(' r');
      return name === channel && Number(number) <= (version ?? 0);
    }),
  );
