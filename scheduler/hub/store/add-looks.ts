import { type Kysely, sql } from 'kysely';

/** Adds when agents looked at their packages, and counts the failed first installations, of which no package runs. */
export const addLooks = async (db: Kysely<unknown>): Promise<void> => {
  for (const column of ['looks', 'service'])
    await db.schema.alterTable('agent').addColumn(column, 'text').execute();
  await sql`update agent_state set failed = failed + (
    select count(*) from assignment_state as state where state.agent = agent_state.agent and state.package is null
      and (state.outcome = 'failed' or state.outcome_type = 'rolled-back'))`.execute(db);
};
