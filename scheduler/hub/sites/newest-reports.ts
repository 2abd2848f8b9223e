import type { Database } from '../store/tables.ts';

/** The signed report statement of an agent, unchanged. */
export type NewestReport = { readonly agent: string; readonly statement: string };

/**
 * The newest report of each agent that is not revoked, followers left out, in its current life, sorted by agent. Of two reports with the same last
 * event, the one written later; the order of arrival does not matter.
 * @param site undefined: all sites
 */
export const newestReports = async (db: Database, site?: string): Promise<readonly NewestReport[]> => {
  let query = db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select(['report.agent', 'report.statement'])
    .where('agent.revoked_at', 'is', null)
    .where('report.apart', '=', 0)
    .where('agent.follower', 'is', null);
  if (site !== undefined) query = query.where('agent.site', '=', site);
  const reports = await query
    .orderBy('report.agent')
    .orderBy('report.last_seq')
    .orderBy('report.written_at')
    .orderBy('report.digest')
    .execute();
  return [...new Map(reports.map((report) => [report.agent, report])).values()];
};
