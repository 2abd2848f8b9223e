import type { Agent } from '../../store/agent.ts';
import { record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { readTrustRow } from '../../store/trust.ts';
import { readStaleness, type Staleness } from './read-staleness.ts';

/** Reports the start and the end of staleness, once each. Returns the current staleness. */
export const recordStaleness = (agent: Agent): Staleness | undefined => {
  const stale = readStaleness(agent);
  if ((stale === undefined) !== (readCondition(agent.state, 'stale') === undefined)) {
    record(agent, stale ? 'stale' : 'fresh', () => noteStaleness(agent, stale));
  }
  return stale;
};

/** As tellStaleness, inside the caller's transaction. */
export const noteStaleness = (agent: Agent, stale: Staleness | undefined): void => {
  const { state } = agent;
  const recorded = readCondition(state, 'stale');
  if ((stale === undefined) === (recorded === undefined)) return;
  const { desiredRelease } = readTrustRow(state);
  const about = desiredRelease ? { release: desiredRelease } : {};
  saveCondition(state, 'stale', stale && { since: stale.since });
  if (stale) {
    const [first] = stale.causes;
    appendEvent(agent, {
      type: 'stale',
      ...about,
      code: first?.code,
      message: stale.causes.map(({ why }) => why).join('; '),
      detail: { since: stale.since, causes: stale.causes.map(({ what, since }) => ({ what, since })) },
    });
  } else {
    appendEvent(agent, {
      type: 'stale',
      ...about,
      outcome: 'unchanged',
      message: 'the running release is confirmed as the newest again',
      detail: { since: recorded?.since ?? null },
    });
  }
};
