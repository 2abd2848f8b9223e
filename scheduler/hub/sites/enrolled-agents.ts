import type { AgentRow, Database } from '../store/tables.ts';

/** Agents of a site that are not revoked, unsorted. Followers are not among them: they have no key. */
export const enrolledAgents = (db: Database, site: string): Promise<readonly AgentRow[]> =>
  db
    .selectFrom('agent')
    .selectAll()
    .where('site', '=', site)
    .where('revoked_at', 'is', null)
    .where('follower', 'is', null)
    .execute();
