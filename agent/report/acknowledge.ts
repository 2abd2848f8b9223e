import type { Digest } from '#bundles/digest';
import type { ReceiptPredicate } from '#bundles/statements/predicates';
import type { Agent } from '../agent.ts';
import type { State } from '../store/state.ts';
import { appendEvent } from './outbox.ts';

/**
 * Lets go of events that the hub has: only where the receipt's head is our own hash at that number. Inside the accepting
 * transaction; the receipts are verified. Returns how many events went.
 */
export const acknowledge = (agent: Agent, receipts: readonly ReceiptPredicate[]): number => {
  const ordered = receipts.toSorted((a, b) => a.to - b.to);
  return ordered.reduce((sum, receipt) => sum + acknowledgeOne(agent, receipt), 0);
};

const acknowledgeOne = (agent: Agent, { to, head, from }: ReceiptPredicate): number => {
  const { state } = agent;
  const own = hashAt(state, to);
  // Acknowledged before: the same stick again.
  if (own === undefined && to < nextSeq(state)) return 0;
  if (own !== head) {
    appendEvent(agent, {
      type: 'receipt',
      outcome: 'failed',
      code: 'RECEIPT_INVALID',
      message: `the hub acknowledges event ${to} with another content than the one told here; nothing was let go`,
      detail: { from, to, head, own: own ?? null },
    });
    return 0;
  }
  const { changes } = state.db.prepare('DELETE FROM outbox WHERE seq <= ?').run(to);
  appendEvent(agent, { type: 'receipt', detail: { to, events: changes } });
  return changes;
};

const hashAt = ({ db }: State, seq: number): Digest | undefined =>
  (db.prepare('SELECT hash FROM outbox WHERE seq = ?').get(seq) as { hash: Digest } | undefined)?.hash;

const nextSeq = ({ db }: State): number =>
  (db.prepare('SELECT next_seq FROM chain').get() as { next_seq: number }).next_seq;
