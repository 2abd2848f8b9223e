import type { Agent } from '../agent.ts';
import { readCondition } from '../store/conditions.ts';
import { readStaleness, type Staleness } from './read-staleness.ts';

/**
 * The staleness for which nothing here may be changed: what runs goes on and is watched. undefined: changes may be made.
 * A person who broke the glass meant what was imported then to be applied.
 */
export const frozenBy = (agent: Agent): Staleness | undefined => {
  if (agent.policy.onStale === 'continue' || readCondition(agent.state, 'glass')) return undefined;
  return readStaleness(agent);
};
