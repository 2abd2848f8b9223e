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

/**
 * As `record`, without waiting for the disk: a power cut may lose the change, so that it has no event and nothing is done on its account that
 * could not be done again. What is recorded later takes it to the disk.
 */
export const recordUnsynced = <T>(agent: Agent, point: string, change: () => T): T => {
  const { db } = agent.state;
  const before = db.pragma('synchronous', { simple: true }) as number;
  db.pragma(`synchronous = ${Math.min(before, NORMAL)}`);
  try {
    return record(agent, point, change);
  } finally {
    db.pragma(`synchronous = ${before}`);
  }
};

/** Of SQLite's `synchronous`: in a write-ahead log no commit waits for the disk. */
const NORMAL = 1;

/** Called between steps, never within one. @throws FleetError ABORTED when the signal is aborted */
export const checkAborted = (signal: AbortSignal): void => {
  if (signal.aborted) throw aborted(signal.reason);
};
