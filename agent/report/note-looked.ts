import type { Agent } from '../store/agent.ts';
import { record } from '../store/journal/boundary.ts';
import { appendEvent, outboxSize } from '../store/outbox/outbox.ts';

/**
 * Appends an event `looked` when every other event is acknowledged: a report is about events, and a machine on which nothing happened can
 * say only in a report that it was compared with its release. @throws FleetError DISK_FULL
 */
export const noteLooked = (agent: Agent): void => {
  record(agent, 'looked', () => {
    if (outboxSize(agent.state).events > 0) return;
    appendEvent(agent, { type: 'looked', message: 'compared with its release for a report' });
  });
};
