import type { SupportRequest } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { Database } from '../store/tables.ts';

/** The requests for support bundles of a site that wait for an answer, by the id of the agent. */
export const openRequests = async (
  db: Database,
  site: string,
  now: Date,
): Promise<ReadonlyMap<string, SupportRequest>> => {
  const rows = await db
    .selectFrom('support_request')
    .innerJoin('agent', 'agent.id', 'support_request.agent')
    .select(['support_request.agent', 'support_request.id', 'support_request.until_at'])
    .where('agent.site', '=', site)
    .where('support_request.answered_at', 'is', null)
    .where('support_request.until_at', '>', formatTime(now))
    .orderBy('support_request.requested_at')
    .orderBy('support_request.id')
    .execute();
  return new Map(rows.map(({ agent, id, until_at: until }) => [agent, { id, until }]));
};
