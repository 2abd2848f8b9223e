import type { Agent } from '../agent.ts';
import { aborted } from './aborted.ts';

/**
 * Commits one step of the journal: `change` is applied completely or not at all, and is on disk when this returns. `point`
 * names the boundary for `onJournal`.
 */
export const record = <T>(agent: Agent, point: string, change: () => T): T => {
  const result = agent.state.db.transaction(change).immediate();
  agent.onJournal(point);
  return result;
};

/** Called between steps, never within one. @throws FleetError ABORTED when the signal is aborted */
export const checkAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw aborted(signal.reason);
};
