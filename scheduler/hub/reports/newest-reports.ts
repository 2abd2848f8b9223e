import type { Database } from '../store/tables.ts';

/** What an agent signed, as it came. */
export type NewestReport = { readonly agent: string; readonly statement: string };

/**
 * The newest report of each agent that is not revoked, of its present life, sorted by agent: what it says of itself now. Of
 * two about the same events the one that was written later; the order they came in does not show.
 * @param site undefined: of all
 */
export const newestReports = async (db: Database, site?: string): Promise<readonly NewestReport[]> => {
  let query = db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select(['report.agent', 'report.statement'])
    .where('agent.revoked_at', 'is', null)
    .where('report.apart', '=', 0);
  if (site !== undefined) query = query.where('agent.site', '=', site);
  const reports = await query
    .orderBy('report.agent')
    .orderBy('report.last_seq')
    .orderBy('report.written_at')
    .orderBy('report.digest')
    .execute();
  return [...new Map(reports.map((report) => [report.agent, report])).values()];
};
