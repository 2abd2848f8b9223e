import type { AgentRow, Database } from '../store/tables.ts';

/** The agents of a site that are not revoked, in no order. A transaction is a database, too. */
export const enrolledAgents = (db: Database, site: string): Promise<readonly AgentRow[]> =>
  db.selectFrom('agent').selectAll().where('site', '=', site).where('revoked_at', 'is', null).execute();
