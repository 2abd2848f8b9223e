import { type RawBuilder, sql } from 'kysely';
import { type Digest, digestOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import type { Timestamp } from '#bundles/time';
import { overwrite } from '../../store/overwrite.ts';
import type { AgentStateRow, ReportRow, Tx } from '../../store/tables.ts';
import { valuesTable } from '../../store/values-table.ts';

/** Digest of a set of packages by assignment: agents with the same digest run the same. */
export const packagesDigest = (packages: Iterable<readonly [string, Digest]>): Digest =>
  digestOf(canonicalJson(Object.fromEntries(packages)));

type Life = Pick<ReportRow, 'agent' | 'life'>;

/** Writes the states of agents from the states of their assignments, after reports. @param agents different ones */
export const updateAgentStates = async (tx: Tx, agents: readonly Life[]): Promise<void> => {
  const rows = (await readSums(tx, agents)).flatMap((sums) =>
    sums.newest_seq === null ? [] : [toRow(sums, sums.newest_seq)],
  );
  if (rows.length === 0) return;
  await tx
    .insertInto('agent_state')
    .values(rows)
    .onConflict((conflict) => conflict.column('agent').doUpdateSet(overwrite(STATE_COLUMNS)))
    .execute();
};

/** All columns of an agent's state but its name. */
const STATE_COLUMNS = [
  'newest_seq',
  'packages',
  'failed',
  'drifted',
  'unknown',
  'checked_at',
  'settled_at',
] as const satisfies readonly (keyof AgentStateRow)[];

/** Sums over the states of an agent's assignments with a package, and of those that failed before any ran: deleted packages have no health. */
type Sums = {
  readonly agent: string;
  /** null: it has no report. */
  readonly newest_seq: number | null;
  /** Assignment and package, one a line; null: nothing runs. */
  readonly packages: string | null;
  readonly failed: number;
  readonly drifted: number;
  readonly unknown: number;
  /** Packages that were not checked since they run. */
  readonly unchecked: number;
} & { readonly [column in `${(typeof CELLS)[number]}_at`]: Timestamp | null };

const CELLS = ['running', 'outcome', 'drift'] as const;

const toRow = (sums: Sums, newestSeq: number): AgentStateRow => {
  const packages = (sums.packages ?? '').split('\n').filter((line) => line !== '');
  const checked = latest([sums.running_at, sums.outcome_at]);
  return {
    agent: sums.agent,
    newest_seq: newestSeq,
    packages: packagesDigest(
      packages.map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), line.slice(at + 1) as Digest] as const;
      }),
    ),
    failed: sums.failed,
    drifted: sums.drifted,
    unknown: sums.unknown,
    checked_at: sums.unchecked === 0 ? checked : null,
    settled_at: latest([checked, sums.drift_at]),
  };
};

const latest = (times: readonly (Timestamp | null)[]): Timestamp | null =>
  times.reduce((last, at) => (at !== null && (last === null || at > last) ? at : last), null);

/** The newest time of a cell: by the agent's clock if that is trusted and not ahead, otherwise when the hub received it. */
const knownTime = (cell: (typeof CELLS)[number]): RawBuilder<unknown> => {
  const [at, report] = [sql.ref(`state.${cell}_at`), sql.table(cell)];
  return sql`max(case when ${report}.clock_trusted = 1 and ${at} < ${report}.received_at
    then ${at} else ${report}.received_at end) as ${sql.ref(`${cell}_at`)}`;
};

const joinReport = (cell: (typeof CELLS)[number]): RawBuilder<unknown> => {
  const report = sql.table(cell);
  return sql`left join report as ${report} on ${report}.agent = state.agent and ${report}.life = asked.life
    and ${report}.digest = ${sql.ref(`state.${cell}_report`)}`;
};

/** The databases add up: fifty states of an agent would otherwise be read for each report. */
const readSums = async (tx: Tx, agents: readonly Life[]): Promise<readonly Sums[]> => {
  const asked = valuesTable(
    ['text', 'bigint'],
    agents.map(({ agent, life }) => [agent, life]),
  );
  const count = (condition: RawBuilder<unknown>) =>
    sql`coalesce(sum(case when ${condition} then 1 else 0 end), 0)`;
  const { rows } = await sql<Sums>`
    with asked(agent, life) as (${asked})
    select asked.agent, (select max(last_seq) from report where report.agent = asked.agent
        and report.life = asked.life and report.apart = 0) as newest_seq,
      string_agg(state.assignment || ' ' || state.package, '\n') filter (where state.package is not null) as packages,
      ${count(sql`state.outcome = 'failed' or state.outcome_type = 'rolled-back'`)} as failed,
      ${count(sql`state.package is not null and state.drifted = 1`)} as drifted,
      ${count(sql`state.package is not null and state.code = 'HEALTH_UNKNOWN'`)} as unknown,
      ${count(sql`state.package is not null and state.outcome_seq < state.running_seq`)} as unchecked,
      ${sql.join(CELLS.map(knownTime))}
    from asked left join assignment_state as state on state.agent = asked.agent
      and (state.package is not null or state.outcome = 'failed' or state.outcome_type = 'rolled-back')
      ${sql.join(CELLS.map(joinReport), sql` `)}
    group by asked.agent, asked.life`.execute(tx);
  return rows;
};
