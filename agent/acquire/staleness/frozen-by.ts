import type { Agent } from '../../store/agent.ts';
import { readCondition } from '../../store/conditions.ts';
import { readStaleness, type Staleness } from './read-staleness.ts';

/**
 * Returns the staleness that blocks changes while running packages are still observed, or undefined if changes are permitted.
 * A break-glass override permits them.
 */
export const frozenBy = (agent: Agent): Staleness | undefined => {
  if (agent.policy.onStale === 'continue' || readCondition(agent.state, 'glass')) return undefined;
  return readStaleness(agent);
};
