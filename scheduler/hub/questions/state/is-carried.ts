import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../../store/tables.ts';

/** The condition on the table `agent` for agents that only media reach: enrolled, never on line, and not a follower. */
export const isCarried = (eb: ExpressionBuilder<Pick<Tables, 'agent'>, 'agent'>) =>
  eb.and([
    eb('agent.revoked_at', 'is', null),
    eb('agent.online_at', 'is', null),
    eb('agent.follower', 'is', null),
  ]);
