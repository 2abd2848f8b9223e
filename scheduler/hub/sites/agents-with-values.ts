import type { AgentRow, Database, Tx } from '../store/tables.ts';

/** Enrolled agents of a site, unsorted, and the clusters that follow a folder of a tree. */
export const agentsWithValues = (db: Database | Tx, site: string): Promise<readonly AgentRow[]> =>
  db.selectFrom('agent').selectAll().where('site', '=', site).where('revoked_at', 'is', null).execute();
