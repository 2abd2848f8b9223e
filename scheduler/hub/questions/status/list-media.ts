import { sql } from 'kysely';
import type { Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { seesWhole } from '../../people/visible.ts';
import { cutPage, type Page } from '../../page.ts';
import type { Database } from '../../store/tables.ts';
import { type ActualFilter } from '../state/read-actual.ts';
import { channelsOf, readAgents, withoutStates } from '../state/read-agents.ts';
import { freshnessPolicyFor } from '../state/freshness.ts';
import { readFreshness } from '../state/freshness-policies.ts';
import { nextVisit, type Visit } from '../state/next-visit.ts';
import { readDesired } from '../state/read-desired.ts';
import { listUnderway, type UnderwayMedium } from './list-underway.ts';
import type { StatusHub } from './read-status.ts';

/** An agent that only media reach: its last returned reports, and the release to carry next. */
export type CarriedAgent = {
  readonly site: string;
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly channel: string;
  /** The newest report that a medium brought. */
  readonly back: {
    readonly report: Digest;
    readonly writtenAt: Timestamp;
    readonly receivedAt: Timestamp;
    readonly events: { readonly from: number; readonly to: number };
  } | null;
  /** The release that it says it imported. */
  readonly accepted: { readonly channel: string; readonly version: number; readonly at: Timestamp } | null;
  /** The newest release of its channel. */
  readonly newest: { readonly version: number; readonly issuedAt: Timestamp } | null;
  /** Events up to this one are acknowledged by a receipt, which the next medium carries; 0: none. */
  readonly acknowledged: number;
  /** null: no policy says how often media come. */
  readonly visit: Visit | null;
};

/** Reports that the hub took from one medium. */
export type Arrival = {
  readonly receivedAt: Timestamp;
  readonly reports: number;
  readonly agents: number;
  readonly sites: readonly string[];
  /**
   * Contents by its unsigned table of contents, for readers without limits. null: it had none, so it was not filled by
   * fleet-export.
   */
  readonly carried: {
    readonly createdAt: Timestamp;
    readonly releases: readonly string[];
    readonly sites: readonly string[];
  } | null;
};

export type MediaAnswer = {
  readonly at: Timestamp;
  /** The newest first; of the first page only. */
  readonly arrivals: readonly Arrival[];
  /** Media that left the office and have not come back; of the first page only, for readers of everything. */
  readonly underway: readonly UnderwayMedium[];
  readonly agents: readonly CarriedAgent[];
  readonly next: string | null;
};

/**
 * Lists returned media and the releases to carry next. A page counts enrolled agents, without agents that report over the
 * network and agents of environments that the reader may not see whole. The contents of a medium are known when it is recorded
 * that it leaves, and when it comes back.
 */
export const listMedia = async (
  hub: StatusHub,
  filter: ActualFilter,
  page: Page,
  now: Date,
): Promise<MediaAnswer> => {
  const { db } = hub.store;
  const all = await readAgents(db, filter, page);
  const { rows, next } = cutPage(all, page.limit, ({ id }) => [id]);
  const carried = rows.filter(
    (row) => row.online_at === null && row.follower === null && seesWhole(filter.visible, row.environment),
  );
  const ids = carried.map(({ id }) => id);
  const reports = await readNewest(db, ids);
  const receipts = await readReceipts(db, ids);
  const { policies } = await readFreshness(db);
  const toActual = withoutStates(now);
  const desired = await readDesired(hub.layout, channelsOf(carried.map(toActual)), hub.keys.root);
  return {
    at: formatTime(now),
    arrivals: page.cursor === undefined ? await readArrivals(db, filter) : [],
    underway: page.cursor === undefined ? await listUnderway(db, filter) : [],
    agents: carried.map((row): CarriedAgent => {
      const { site, channel, accepted, heardAt, enrolledAt, online } = toActual(row);
      const wanted = desired.get(formatChannel(channel));
      const policy = freshnessPolicyFor(policies, channel);
      return {
        site,
        agent: row.id,
        channel: formatChannel(channel),
        back: reports.get(row.id) ?? null,
        accepted: accepted && row.release_at !== null ? { ...accepted, at: row.release_at } : null,
        newest: wanted?.kind === 'release' ? { version: wanted.version, issuedAt: wanted.issuedAt } : null,
        acknowledged: receipts.get(row.id) ?? 0,
        visit: nextVisit({ heardAt, enrolledAt, online }, policy, now) ?? null,
      };
    }),
    next,
  };
};

const readNewest = async (
  db: Database,
  agents: readonly string[],
): Promise<ReadonlyMap<string, CarriedAgent['back']>> => {
  if (agents.length === 0) return new Map();
  const rows = await db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select([
      'report.agent',
      'report.digest',
      'report.first_seq',
      'report.last_seq',
      'report.written_at',
      'report.received_at',
    ])
    .where('report.agent', 'in', agents)
    .where('report.source', '=', 'stick')
    .where('report.apart', '=', 0)
    .orderBy('report.last_seq')
    .execute();
  return new Map(
    rows.map((row) => [
      row.agent,
      {
        report: row.digest,
        writtenAt: row.written_at,
        receivedAt: row.received_at,
        events: { from: row.first_seq, to: row.last_seq },
      },
    ]),
  );
};

const readReceipts = async (
  db: Database,
  agents: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (agents.length === 0) return new Map();
  const rows = await db
    .selectFrom('receipt')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'receipt.agent').onRef('agent.life', '=', 'receipt.life'),
    )
    .select(['receipt.agent', 'receipt.to_seq'])
    .where('receipt.agent', 'in', agents)
    .execute();
  return new Map(rows.map(({ agent, to_seq: to }) => [agent, to]));
};

/** Newest reports that are looked at for arrivals, and arrivals that are listed. */
const REPORTS = 2000;
const ARRIVALS = 20;

/** All reports of one import have the same time of receipt. */
const readArrivals = async (
  db: Database,
  { environment, site, visible }: ActualFilter,
): Promise<readonly Arrival[]> => {
  let query = db
    .selectFrom('report')
    .innerJoin('agent', 'agent.id', 'report.agent')
    .select(['report.received_at', 'report.agent', 'agent.site'])
    // As in the index, which is only of these reports.
    .where(sql<boolean>`report.source = 'stick'`)
    .orderBy('report.number', 'desc')
    .limit(REPORTS);
  if (environment !== undefined) query = query.where('agent.environment', '=', environment);
  if (site !== undefined) query = query.where('agent.site', '=', site);
  if (visible !== undefined) query = query.where('agent.environment', 'in', ['', ...visible.whole]);
  const byTime = Map.groupBy(await query.execute(), (row) => row.received_at);
  const arrivals = [...byTime].slice(0, ARRIVALS);
  const carried =
    visible === undefined
      ? await readCarried(
          db,
          arrivals.map(([at]) => at),
        )
      : undefined;
  return arrivals.map(([receivedAt, of]) => ({
    receivedAt,
    reports: of.length,
    agents: new Set(of.map(({ agent }) => agent)).size,
    sites: [...new Set(of.map((one) => one.site))].toSorted(),
    carried: carried?.get(receivedAt) ?? null,
  }));
};

const readCarried = async (
  db: Database,
  times: readonly Timestamp[],
): Promise<ReadonlyMap<Timestamp, Arrival['carried']>> => {
  if (times.length === 0) return new Map();
  const rows = await db.selectFrom('medium_return').selectAll().where('received_at', 'in', times).execute();
  return new Map(
    rows.map(({ received_at: at, created_at: createdAt, releases, sites }) => [
      at,
      { createdAt, releases: JSON.parse(releases) as string[], sites: JSON.parse(sites) as string[] },
    ]),
  );
};
