import { sql } from 'kysely';
import type { Event } from '#bundles/formats/events/event';
import { parseJson } from '#bundles/json/parse-json';
import type { Store } from '../../store/open-store.ts';
import type { Tx } from '../../store/tables.ts';
import { updateAgentStates } from './agent-state.ts';
import { HISTORY_VERSION } from './facts.ts';
import { nextNumber } from './next-number.ts';
import { REMOVED } from './stored-spans.ts';
import { updateStates } from './update-states.ts';
import type { FactSource } from './write-history.ts';

/**
 * Rebuilds the history of a database that was written by older rules, or by none.
 * @param say called before, if there are reports: of many it takes minutes @throws FleetError BUSY, DISK_FULL
 */
export const updateHistory = async (store: Store, say: (line: string) => void): Promise<void> => {
  const { history } = await store.db.selectFrom('fleet').select('history').executeTakeFirstOrThrow();
  // A newer program has rebuilt it, and takes the reports that this one refuses.
  if (history >= HISTORY_VERSION) return;
  const { reports } = await store.db
    .selectFrom('report')
    .select(({ fn }) => fn.countAll<number>().as('reports'))
    .executeTakeFirstOrThrow();
  if (reports > 0)
    say(
      `The hub database is of an older version: its history is rebuilt from ${reports} reports, once. Do not interrupt it.`,
    );
  await rebuildHistory(store);
};

export type RebuiltHistory = { readonly reports: number; readonly events: number; readonly changes: number };

/**
 * Rebuilds the history and the states of assignments and agents by replaying the stored events, report by report in the order
 * of storage. The result equals the one of ingest. Agents with events removed by retention keep their rows, because the
 * remaining events do not give their state.
 * @throws FleetError STORE_NEWER for one that a newer version wrote; BUSY, DISK_FULL; ABORTED
 */
export const rebuildHistory = (store: Store, signal?: AbortSignal): Promise<RebuiltHistory> =>
  store.transact(async (tx) => {
    await nextNumber(tx);
    const kept = await trimmedAgents(tx);
    for (const table of ['history', 'assignment_state', 'agent_state'])
      await sql`delete from ${sql.table(table)} where agent not in (${trimmed(tx)})`.execute(tx);
    const lives = new Map<string, number>();
    const counts = { reports: 0, events: 0 };
    for (let after = 0; ; ) {
      signal?.throwIfAborted();
      const report = await nextReport(tx, after);
      if (!report) break;
      after = report.number;
      if (kept.has(report.agent)) continue;
      if (lives.get(report.agent) !== report.life) await forgetStates(tx, report.agent);
      lives.set(report.agent, report.life);
      const events = await eventsOf(tx, report);
      await updateStates(tx, [{ report, events }]);
      counts.reports += 1;
      counts.events += events.length;
    }
    const agents = await tx.selectFrom('agent').select(['id', 'life']).execute();
    for (const { id, life } of agents) {
      if (kept.has(id)) continue;
      if ((lives.get(id) ?? life) !== life) await forgetStates(tx, id);
      await updateAgentStates(tx, [{ agent: id, life }]);
    }
    await tx.updateTable('fleet').set({ history: HISTORY_VERSION }).execute();
    const { changes } = await tx
      .selectFrom('history')
      .select(({ fn }) => fn.countAll<number>().as('changes'))
      .executeTakeFirstOrThrow();
    return { ...counts, changes };
  });

const trimmed = (tx: Tx) => tx.selectFrom('event').select('event.agent').where('event.type', '=', REMOVED);

const trimmedAgents = async (tx: Tx): Promise<ReadonlySet<string>> =>
  new Set((await trimmed(tx).distinct().execute()).map(({ agent }) => agent));

type StoredReport = FactSource & { readonly first_seq: number; readonly last_seq: number };

const nextReport = (tx: Tx, after: number): Promise<StoredReport | undefined> =>
  tx
    .selectFrom('report')
    .select(['agent', 'life', 'digest', 'received_at', 'number', 'first_seq', 'last_seq'])
    .where('number', '>', after)
    .where('apart', '=', 0)
    .orderBy('number')
    .limit(1)
    .executeTakeFirst();

/** The events that this report was the first to bring. */
const eventsOf = async (tx: Tx, report: StoredReport): Promise<readonly Event[]> => {
  const rows = await tx
    .selectFrom('event')
    .select('line')
    .where('agent', '=', report.agent)
    .where('life', '=', report.life)
    .where('seq', '>=', report.first_seq)
    .where('seq', '<=', report.last_seq)
    .where('report', '=', report.digest)
    .orderBy('seq')
    .execute();
  return rows.map(({ line }) => parseJson(line) as Event);
};

/** A new machine under the same name: the state of the old one is in its events. */
const forgetStates = async (tx: Tx, agent: string): Promise<void> => {
  await tx.deleteFrom('assignment_state').where('agent', '=', agent).execute();
};
