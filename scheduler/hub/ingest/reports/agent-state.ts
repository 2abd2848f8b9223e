import { type Digest, digestOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import type { Timestamp } from '#bundles/time';
import type { AgentStateRow, AssignmentStateRow, ReportRow, Tx } from '../../store/tables.ts';
import { isFailed } from '../../../model/event-steps.ts';

/** Digest of a set of packages by assignment: agents with the same digest run the same. */
export const packagesDigest = (packages: Iterable<readonly [string, Digest]>): Digest =>
  digestOf(canonicalJson(Object.fromEntries(packages)));

/** Writes the state of an agent from the states of its assignments, after a report. */
export const updateAgentState = async (tx: Tx, agent: Pick<ReportRow, 'agent' | 'life'>): Promise<void> => {
  const newest = await readNewestSeq(tx, agent);
  if (newest === undefined) return;
  const row = foldAgent(agent.agent, newest, await readCells(tx, agent));
  const { agent: _, ...columns } = row;
  await tx
    .insertInto('agent_state')
    .values(row)
    .onConflict((conflict) => conflict.column('agent').doUpdateSet(columns))
    .execute();
};

const readNewestSeq = async (
  tx: Tx,
  { agent, life }: Pick<ReportRow, 'agent' | 'life'>,
): Promise<number | undefined> => {
  const newest = await tx
    .selectFrom('report')
    .select('last_seq')
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('apart', '=', 0)
    .orderBy('last_seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.last_seq;
};

/** The state of an assignment, with the reports that its cells come from. */
type Cells = Pick<
  AssignmentStateRow,
  | 'assignment'
  | 'package'
  | 'outcome'
  | 'outcome_type'
  | 'code'
  | 'drifted'
  | `${'running' | 'outcome'}_seq`
  | `${'running' | 'outcome' | 'drift'}_at`
> & {
  readonly [column in `${'running' | 'outcome' | 'drift'}_received`]: Timestamp | null;
} & { readonly [column in `${'running' | 'outcome' | 'drift'}_trusted`]: number | null };

/** Assignments without a package do not count: deleted packages have no health. */
const foldAgent = (agent: string, newestSeq: number, cells: readonly Cells[]): AgentStateRow => {
  const running = cells.flatMap((cell) =>
    cell.package === null ? [] : [{ ...cell, package: cell.package }],
  );
  const checked = running.flatMap((cell) => [
    knownTime(cell.running_at, cell.running_received, cell.running_trusted),
    knownTime(cell.outcome_at, cell.outcome_received, cell.outcome_trusted),
  ]);
  const drift = running.map((cell) => knownTime(cell.drift_at, cell.drift_received, cell.drift_trusted));
  return {
    agent,
    newest_seq: newestSeq,
    packages: packagesDigest(running.map((cell) => [cell.assignment, cell.package] as const)),
    failed: running.filter((cell) => isFailed({ outcome: cell.outcome, type: cell.outcome_type ?? '' }))
      .length,
    drifted: running.filter(({ drifted }) => drifted === 1).length,
    unknown: running.filter(({ code }) => code === 'HEALTH_UNKNOWN').length,
    // A check of an earlier package does not count as the health of the running one.
    checked_at: running.every((cell) => cell.outcome_seq >= cell.running_seq) ? latest(checked) : null,
    settled_at: latest([...checked, ...drift]),
  };
};

/** By the agent's clock if that is trusted and not ahead; otherwise when the hub received it. */
const knownTime = (
  at: Timestamp | null,
  received: Timestamp | null,
  trusted: number | null,
): Timestamp | null => {
  if (at === null || received === null) return null;
  return trusted === 1 && at < received ? at : received;
};

const latest = (times: readonly (Timestamp | null)[]): Timestamp | null =>
  times.reduce((last, at) => (at !== null && (last === null || at > last) ? at : last), null);

const readCells = async (
  tx: Tx,
  { agent, life }: Pick<ReportRow, 'agent' | 'life'>,
): Promise<readonly Cells[]> =>
  await tx
    .selectFrom('assignment_state as state')
    .leftJoin('report as running', (join) =>
      join
        .onRef('running.agent', '=', 'state.agent')
        .on('running.life', '=', life)
        .onRef('running.digest', '=', 'state.running_report'),
    )
    .leftJoin('report as outcome', (join) =>
      join
        .onRef('outcome.agent', '=', 'state.agent')
        .on('outcome.life', '=', life)
        .onRef('outcome.digest', '=', 'state.outcome_report'),
    )
    .leftJoin('report as drift', (join) =>
      join
        .onRef('drift.agent', '=', 'state.agent')
        .on('drift.life', '=', life)
        .onRef('drift.digest', '=', 'state.drift_report'),
    )
    .select([
      'state.assignment',
      'state.package',
      'state.outcome',
      'state.outcome_type',
      'state.code',
      'state.drifted',
      'state.running_seq',
      'state.outcome_seq',
      'state.running_at',
      'state.outcome_at',
      'state.drift_at',
      'running.received_at as running_received',
      'outcome.received_at as outcome_received',
      'drift.received_at as drift_received',
      'running.clock_trusted as running_trusted',
      'outcome.clock_trusted as outcome_trusted',
      'drift.clock_trusted as drift_trusted',
    ])
    .where('state.agent', '=', agent)
    .execute();
