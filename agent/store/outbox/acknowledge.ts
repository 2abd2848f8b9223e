import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import type { ReceiptPredicate } from '#bundles/formats/statements/predicates';
import { parseTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import type { Request } from '../../model/request.ts';
import type { State } from '../state.ts';
import { appendEvent, lastEvent, readOutbox } from './outbox.ts';

export type Acknowledged = {
  /** Number of events that were removed from the outbox. */
  readonly events: number;
  /** Number of receipts for another history: this agent was restored from a copy, or its key was copied. */
  readonly contradicting: number;
};

/**
 * Removes events that the hub has acknowledged, if the receipt's head equals the agent's own hash at that number. Must run
 * inside a transaction; the receipts are verified already.
 * @param tell whether accepting a receipt appends an event. True for receipts from a medium; false for answers of the hub,
 *   where each event would cause another receipt
 */
export const acknowledge = (
  agent: Agent,
  receipts: readonly ReceiptPredicate[],
  { tell = true } = {},
): Acknowledged => {
  const ordered = receipts.toSorted((a, b) => a.to - b.to);
  const gone = ordered.map((receipt) => acknowledgeOne(agent, receipt, tell));
  return {
    events: gone.reduce<number>((sum, events) => sum + (events ?? 0), 0),
    contradicting: gone.filter((events) => events === undefined).length,
  };
};

/**
 * Returns the number of events removed, or undefined for a receipt that contradicts the outbox. A receipt older than the
 * enrolment acknowledges events of a previous agent of this name; the medium that answers an enrolment may still carry it.
 */
const acknowledgeOne = (
  agent: Agent,
  { to, head, from, time }: ReceiptPredicate,
  tell: boolean,
): number | undefined => {
  const { state, identity } = agent;
  const own = hashAt(state, to);
  if (own !== head && parseTime(time) < enrolledAt(identity)) return 0;
  // Acknowledged before, for example by the same medium; or inside a run that was compacted after it was handed over.
  if (own === undefined && to <= lastEvent(state)) return 0;
  if (own !== head) {
    if (isContradictionReported(state, to, head)) return undefined;
    appendEvent(agent, {
      type: 'receipt',
      outcome: 'failed',
      code: 'RECEIPT_INVALID',
      message: `the hub acknowledges event ${to} with other content than was reported here; nothing was removed`,
      detail: { from, to, head, own: own ?? null },
    });
    return undefined;
  }
  const { changes } = state.db.prepare('DELETE FROM outbox WHERE seq <= ?').run(to);
  if (tell) appendEvent(agent, { type: 'receipt', detail: { to, events: changes } });
  return changes;
};

const enrolledAt = ({ request }: Agent['identity']): Date => parseTime((JSON.parse(request) as Request).at);

/** True if this contradiction is in the outbox already: it is reported once, not at every poll. */
const isContradictionReported = (state: State, to: number, head: Digest): boolean =>
  readOutbox(state).some(({ line }) => {
    const { type, code, detail } = JSON.parse(line) as Event;
    return (
      type === 'receipt' && code === 'RECEIPT_INVALID' && detail?.['to'] === to && detail['head'] === head
    );
  });

const hashAt = ({ db }: State, seq: number): Digest | undefined =>
  (
    db.prepare('SELECT hash FROM outbox WHERE coalesce(last_seq, seq) = ?').get(seq) as
      | { hash: Digest }
      | undefined
  )?.hash;
