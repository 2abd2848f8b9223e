import type { Agent } from '../agent.ts';
import { readCondition, saveCondition } from '../conditions.ts';
import { record } from '../journal/boundary.ts';
import { outboxSize, readOutbox } from './outbox.ts';
import { type Compaction, planCompaction } from './plan-compaction.ts';

/** Part of the budget by which the outbox grows before the next try, so that one that cannot shrink is not read at every look. */
const GROWTH = 1 / 16;

/**
 * Keeps the outbox within its budget while the hub cannot be reached: repetitions are replaced by `compacted` events, in one
 * transaction. Changes and failures are kept, even beyond the budget.
 * @returns number of events that were dropped
 */
export const compactOutbox = (agent: Agent): number => {
  const { state, policy } = agent;
  const { bytes } = outboxSize(state);
  const left = readCondition(state, 'compacted')?.bytes ?? 0;
  if (bytes <= policy.outboxBytes || bytes <= left + policy.outboxBytes * GROWTH) return 0;
  return record(agent, 'outbox compacted', () => {
    const compactions = planCompaction(readOutbox(state));
    const dropped = compactions.reduce((sum, compaction) => sum + replace(agent, compaction), 0);
    saveCondition(state, 'compacted', { bytes: outboxSize(state).bytes });
    return dropped;
  });
};

const replace = ({ state: { db } }: Agent, { from, replacement }: Compaction): number => {
  const { seq, hash, line, lastSeq } = replacement;
  const { changes } = db.prepare('DELETE FROM outbox WHERE seq BETWEEN ? AND ?').run(from, lastSeq);
  db.prepare('INSERT INTO outbox (seq, hash, line, last_seq) VALUES (?, ?, ?, ?)').run(
    seq,
    hash,
    line,
    lastSeq,
  );
  return changes - 1;
};
