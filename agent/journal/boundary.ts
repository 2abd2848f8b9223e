import type { Agent } from '../agent.ts';
import { aborted } from './aborted.ts';

/**
 * One step of the journal: all of `change` or nothing of it, on disk when this returns. `point` names the boundary for
 */
export const record = <T>(agent: Agent, point: string, change: () => T): T => {
  const result = agent.state.db.transaction(change).immediate();
  agent.onJournal(point);
  return result;
};

/** @throws FleetError ABORTED when a signal asked the run to end: between two steps, never within one */
export const checkAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw aborted(signal.reason);
};
