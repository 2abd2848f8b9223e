import { WITH_CHECKS } from '../../questions/state/read-failed-checks.ts';
import type { Span } from '#bundles/formats/events/compacted';
import type { Timestamp } from '#bundles/time';
import { REMOVED } from '../../ingest/reports/stored-spans.ts';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, ReportRow, Tx } from '../../store/tables.ts';

/** A key of an agent: its reports and events are numbered anew with each. */
export type Life = { readonly agent: string; readonly life: number };

export type TrimOptions = {
  /** Reports received from then on are kept. */
  readonly before: Timestamp;
  /** The newest event that the signer has judged; undefined: no signer judges reports. */
  readonly judged?: number | undefined;
};

export type Trimmed = {
  readonly events: number;
  readonly reports: number;
  readonly changes: number;
  /** The transaction was full: call again. */
  readonly more: boolean;
};

const NOTHING: Trimmed = { events: 0, reports: 0, changes: 0, more: false };

/** Rows of one transaction: reports that arrive meanwhile wait for it. */
const ROWS = 1000;

/**
 * Removes what reports received before a time said, in one short transaction. One row per unbroken run of removed events stays,
 * with the hashes at its ends, so that the chain can still be compared. Kept whole: the newest report, everything from the
 * first kept report on, events of checks that fail now. Of reports that states, floors or the order of storage need, the row
 * stays without the signed statement. Of the history the newest value before the removed part stays for each field.
 * @throws FleetError BUSY, DISK_FULL, DATABASE_UNREACHABLE
 */
export const trimLife = (store: Store, life: Life, options: TrimOptions): Promise<Trimmed> =>
  store.transact(async (tx) => {
    const agent = await tx.selectFrom('agent').selectAll().where('id', '=', life.agent).executeTakeFirst();
    const until = (await firstKept(tx, life, agent, options)) - 1;
    if (until < 1) return NOTHING;
    const newest = await newestOfFloors(tx, life, until);
    if (newest === 'fell') return NOTHING;
    const { events, more } = await removeEvents(tx, life, until);
    if (more) return { ...NOTHING, events, more };
    const reports = await removeReports(tx, life, until, [
      ...newest,
      ...(await reportsOfStates(tx, life, agent)),
    ]);
    const changes = await removeChanges(tx, life, until);
    if (events + reports + changes > 0) await noteRemoved(tx, options.before);
    return { events, reports, changes, more: reports >= ROWS };
  });

/** The number of the first event that is kept; 0: all are. */
const firstKept = async (
  tx: Tx,
  { agent: id, life }: Life,
  agent: AgentRow | undefined,
  { before, judged }: TrimOptions,
): Promise<number> => {
  const own = () =>
    tx
      .selectFrom('report')
      .where('report.agent', '=', id)
      .where('report.life', '=', life)
      .where('report.apart', '=', 0);
  const { last } = await own()
    .select(({ fn }) => fn.max('last_seq').as('last'))
    .executeTakeFirstOrThrow();
  if (last === null) return 0;
  const kept = await own()
    .where((eb) => eb.or([eb('received_at', '>=', before), eb('last_seq', '=', last)]))
    .select(({ fn }) => fn.min('first_seq').as('first'))
    .executeTakeFirstOrThrow();
  const bounds = [kept.first];
  if (judged !== undefined) bounds.push(judged + 1);
  if (agent?.life === life) {
    bounds.push(agent.head_seq);
    const failing = await tx
      .selectFrom('assignment_state')
      .select(({ fn }) => fn.min('outcome_seq').as('seq'))
      .where('agent', '=', id)
      .where('code', 'in', WITH_CHECKS)
      .executeTakeFirstOrThrow();
    if (failing.seq !== null) bounds.push(failing.seq);
  }
  return Math.min(...bounds);
};

const FLOORS = ['floor_site', 'floor_release', 'floor_lease', 'floor_time'] as const;

/**
 * Floors are compared among the reports under one root and of one channel (check-floors.ts). The newest of each such group stands
 * for all of it, unless a floor fell within the group.
 */
const newestOfFloors = async (
  tx: Tx,
  { agent, life }: Life,
  until: number,
): Promise<readonly string[] | 'fell'> => {
  const own = () =>
    tx.selectFrom('report').where('agent', '=', agent).where('life', '=', life).where('apart', '=', 0);
  const groups = await own()
    .where('last_seq', '<=', until)
    .groupBy(['floor_root', 'channel'])
    .select(['floor_root', 'channel'])
    .select(({ fn }) => [
      fn.max('last_seq').as('last_seq'),
      ...FLOORS.map((floor) => fn.max<string | number>(floor).as(floor)),
    ])
    .execute();
  const digests: string[] = [];
  for (const group of groups) {
    const newest = await own()
      .selectAll()
      .where('floor_root', '=', group.floor_root)
      .where('channel', 'is not distinct from', group.channel)
      .where('last_seq', '=', group.last_seq)
      .orderBy('written_at', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    const highest = group as unknown as Pick<ReportRow, (typeof FLOORS)[number]>;
    if (FLOORS.some((floor) => newest[floor] < highest[floor])) return 'fell';
    digests.push(newest.digest);
  }
  return digests;
};

type Removable = {
  readonly seq: number;
  readonly last: number;
  readonly prev: string;
  readonly hash: string;
};

/** Replaces events up to `until` by one row per unbroken run. */
const removeEvents = async (
  tx: Tx,
  { agent, life }: Life,
  until: number,
): Promise<{ readonly events: number; readonly more: boolean }> => {
  const found = await tx
    .selectFrom('event')
    .select(({ fn }) => ['seq', 'prev', 'hash', 'type', 'at', fn.coalesce('last_seq', 'seq').as('last')])
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('seq', '<=', until)
    .orderBy('seq')
    .limit(ROWS)
    .execute();
  const rows = found.filter(({ last }) => last <= until);
  const events = rows.filter(({ type }) => type !== REMOVED).length;
  const [first, newest] = [rows[0], rows.at(-1)];
  if (events === 0 || !first || !newest) return { events: 0, more: false };
  await tx
    .deleteFrom('event')
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('seq', '>=', first.seq)
    .where('seq', '<=', newest.seq)
    .execute();
  const none = { assignment: null, package: null, outcome: null, code: null, report: '' as never };
  await tx
    .insertInto('event')
    .values(
      runsOf(rows).map(({ seq, to, prev, hash }) => ({
        ...none,
        agent,
        life,
        seq,
        prev,
        hash,
        at: newest.at,
        type: REMOVED,
        last_seq: to,
        line: JSON.stringify({ type: REMOVED, from: seq, to }),
      })),
    )
    .execute();
  return { events, more: found.length === ROWS };
};

/** Adjacent events as spans, each from the first event's predecessor to the last one's hash. */
const runsOf = (rows: readonly Removable[]): readonly Span[] => {
  const runs: Span[] = [];
  for (const { seq, last, prev, hash } of rows) {
    const before = runs.at(-1);
    const span = { to: last, hash } as Pick<Span, 'to' | 'hash'>;
    if (before && before.to === seq - 1) runs[runs.length - 1] = { ...before, ...span };
    else runs.push({ seq, prev, ...span } as Span);
  }
  return runs;
};

const reportsOfStates = async (
  tx: Tx,
  { agent, life }: Life,
  current: AgentRow | undefined,
): Promise<readonly string[]> => {
  if (current?.life !== life) return [];
  const rows = await tx
    .selectFrom('assignment_state')
    .select(['running_report', 'outcome_report', 'drift_report'])
    .distinct()
    .where('agent', '=', agent)
    .execute();
  return rows.flatMap((row) => Object.values(row).filter((digest) => digest !== null));
};

/** Deletes reports that only have events up to `until`; of `needed` ones the statement. @returns how many */
const removeReports = async (
  tx: Tx,
  { agent, life }: Life,
  until: number,
  needed: readonly string[],
): Promise<number> => {
  const { newest } = await tx
    .selectFrom('report')
    .select(({ fn }) => fn.max('number').as('newest'))
    .executeTakeFirstOrThrow();
  const rows = await tx
    .selectFrom('report')
    .select(['digest', 'number'])
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('apart', '=', 0)
    .where('last_seq', '<=', until)
    // Reduced rows stay while they are needed, and are checked again when more events become due.
    .orderBy('number')
    .limit(2 * ROWS)
    .execute();
  const isNeeded = new Set(needed);
  const kept = rows.filter(({ digest, number }) => isNeeded.has(digest) || number === newest);
  const gone = rows.filter((row) => !kept.includes(row)).slice(0, ROWS);
  for (const { digest } of kept)
    await tx
      .updateTable('report')
      .set({ statement: '' })
      .where('agent', '=', agent)
      .where('life', '=', life)
      .where('digest', '=', digest)
      .where('statement', '<>', '')
      .execute();
  if (gone.length === 0) return 0;
  await tx
    .deleteFrom('report')
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where(
      'digest',
      'in',
      gone.map(({ digest }) => digest),
    )
    .execute();
  return gone.length;
};

/** The newest value of each field up to `until` stays: it is the state at the start of the kept period. */
const removeChanges = async (tx: Tx, { agent, life }: Life, until: number): Promise<number> => {
  const { numDeletedRows } = await tx
    .deleteFrom('history')
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('seq', '<=', until)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('history as later')
          .select('later.seq')
          .whereRef('later.agent', '=', 'history.agent')
          .whereRef('later.assignment', '=', 'history.assignment')
          .whereRef('later.field', '=', 'history.field')
          .whereRef('later.life', '=', 'history.life')
          .whereRef('later.seq', '>', 'history.seq')
          .where('later.seq', '<=', until),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
};

const noteRemoved = (tx: Tx, before: Timestamp): Promise<unknown> =>
  tx
    .updateTable('fleet')
    .set({ removed_until: before })
    .where((eb) => eb.or([eb('removed_until', 'is', null), eb('removed_until', '<', before)]))
    .execute();
