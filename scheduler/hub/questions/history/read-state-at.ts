import { sql } from 'kysely';
import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import { isSeen, seesAssignment } from '../../people/visible.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { HistoryField, HistoryRow } from '../../store/history-row.ts';
import { PART, parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import type { Subject } from './question.ts';

/** A value, since when it holds without a break, and the report about its beginning. */
export type Lasting = {
  readonly value: string | null;
  readonly since: Timestamp;
  readonly receivedAt: Timestamp;
  readonly report: Digest;
};

type Values = { readonly [field in HistoryField]?: Lasting };

export type AgentAt = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly site: string;
  /** Today's, also of a past state. */
  readonly channel: Channel;
  readonly own: Values;
  readonly assignments: readonly { readonly assignment: string; readonly values: Values }[];
};

export type StateAt = { readonly agents: readonly AgentAt[]; readonly next: string | null };

export type At = {
  readonly at: Timestamp;
  /** Limits facts to those received by this time; undefined: all. */
  readonly knownAt?: Timestamp | undefined;
};

/**
 * The state of agents at a time, from the changes observed until then. The limit of a page counts agents. Agents enrolled later,
 * or revoked by then, are left out; with assignments, also those that never had one of them.
 */
export const readStateAt = async (
  db: Database,
  subject: Subject,
  { at, knownAt }: At,
  page: Page,
): Promise<StateAt> => {
  let query = db
    .selectFrom('agent')
    .selectAll()
    // A new key changes the time of enrolment.
    .where((eb) => eb.or([eb('enrolled_at', '<=', at), eb('life', '>', 1)]))
    .where((eb) => eb.or([eb('revoked_at', 'is', null), eb('revoked_at', '>', at)]))
    .orderBy('id')
    .limit(page.limit + 1);
  if (subject.environment !== undefined) query = query.where('environment', '=', subject.environment);
  if (subject.site !== undefined) query = query.where('site', '=', subject.site);
  if (subject.agent !== undefined) query = query.where('id', '=', subject.agent);
  const { assignments, visible } = subject;
  if (visible !== undefined) query = query.where(isSeen(visible));
  if (assignments !== undefined)
    query = query.where((eb) =>
      eb.exists(
        eb
          .selectFrom('history')
          .select('history.seq')
          .whereRef('history.agent', '=', 'agent.id')
          .where('history.assignment', 'in', assignments),
      ),
    );
  if (page.cursor !== undefined) query = query.where('id', '>', decodeCursor(page.cursor, [''] as const)[0]);
  const { rows: agents, next } = cutPage(await query.execute(), page.limit, ({ id }) => [id]);
  const known = new Map<string, Map<string, Values>>();
  for (const part of parts(agents, Math.ceil(PART / Math.max(1, assignments?.length ?? 1)))) {
    const ids = part.map(({ id }) => id);
    const rows = await rowsOf(db, ids, assignments, { at, knownAt });
    const lives = new Map<string, number>();
    for (const { id, life, enrolled_at: enrolledAt } of agents) if (enrolledAt <= at) lives.set(id, life);
    for (const { agent, life } of rows) lives.set(agent, Math.max(life, lives.get(agent) ?? 0));
    // Of an earlier machine under the same name nothing runs any more.
    for (const row of rows) if (row.life === lives.get(row.agent)) note(known, row);
  }
  return {
    agents: agents.map((row) => {
      const { '': own = {}, ...rest } = Object.fromEntries(known.get(row.id) ?? []);
      return {
        agent: row.id,
        site: row.site,
        channel: channelOf(row),
        own,
        assignments: Object.entries(rest)
          .filter(([name]) => seesAssignment(visible, row.environment, name))
          .map(([name, values]) => ({ assignment: name, values })),
      };
    }),
    next,
  };
};

type Row = Omit<HistoryRow, 'seq'>;

const rowsOf = async (
  db: Database,
  agents: readonly string[],
  assignments: readonly string[] | undefined,
  { at, knownAt }: At,
): Promise<readonly Row[]> => {
  let query = db
    .selectFrom('history')
    .select(['agent', 'assignment', 'field', 'life', 'value', 'observed_at', 'received_at', 'report'])
    .where('observed_at', '<=', at)
    .orderBy('agent')
    .orderBy('assignment')
    .orderBy('field')
    .orderBy('life')
    .orderBy('seq');
  // Pairs, because SQLite would read all history of an assignment instead.
  query =
    assignments === undefined
      ? query.where('agent', 'in', agents)
      : query.where(
          sql<boolean>`(agent, assignment) in (values ${sql.join(
            agents.flatMap((agent) => assignments.map((assignment) => sql`(${agent}, ${assignment})`)),
          )})`,
        );
  if (knownAt !== undefined) query = query.where('received_at', '<=', knownAt);
  return await query.execute();
};

/** Adds a row that is newer than those of the same field before it. */
const note = (known: Map<string, Map<string, Values>>, row: Row): void => {
  const agent = known.get(row.agent) ?? new Map<string, Values>();
  known.set(row.agent, agent);
  const values = agent.get(row.assignment) ?? {};
  const before = values[row.field];
  if (before && before.value === row.value) return;
  const { value, observed_at: since, received_at: receivedAt, report } = row;
  agent.set(row.assignment, { ...values, [row.field]: { value, since, receivedAt, report } });
};
