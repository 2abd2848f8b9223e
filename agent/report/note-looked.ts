import type { Agent } from '../store/agent.ts';
import { record } from '../store/journal/boundary.ts';
import { readCondition } from '../store/conditions.ts';
import { ageOf, readLastLook } from '../store/last-look.ts';
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

/**
 * Whether the agent has looked since its last acknowledged report, and that is `everyMs` old or of an unknown age. Ages count by the clock
 * since boot within one boot, so that setting the wall clock causes no reports.
 */
export const isLookUnsigned = ({ state, edge }: Pick<Agent, 'state' | 'edge'>, everyMs: number): boolean => {
  const { last } = readLastLook(state);
  const looked = last && ageOf(last, edge);
  if (looked === undefined) return false;
  const signed = readCondition(state, 'signed');
  const age = signed && ageOf(signed, edge);
  return age === undefined || (age >= everyMs && looked < age);
};
