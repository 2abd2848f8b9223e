import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/report/event';
import type { ReceiptPredicate } from '#bundles/statements/predicates';
import { parseTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import type { Request } from '../enroll/request.ts';
import type { State } from '../store/state.ts';
import { appendEvent, readOutbox } from './outbox.ts';

export type Acknowledged = {
  /** How many events went. */
  readonly events: number;
  /** Receipts for another history than this agent's: it was put back from a copy, or somebody has its key. */
  readonly contradicting: number;
};

/**
 * Lets go of events that the hub has: only where the receipt's head is our own hash at that number. Inside a
 * transaction; the receipts are verified.
 * @param tell whether taking one is an event: of one that a stick brought the office wants to hear, while of each answer of
 *   the hub there would be one event more to hand over, for ever
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
 * Returns undefined for a receipt that contradicts the outbox. A receipt older than the enrolment acknowledges events of the previous agent of this
 * name; the medium that answers an enrolment may still carry it.
 */
const acknowledgeOne = (
  agent: Agent,
  { to, head, from, time }: ReceiptPredicate,
  tell: boolean,
): number | undefined => {
  const { state, identity } = agent;
  const own = hashAt(state, to);
  if (own !== head && parseTime(time) < enrolledAt(identity)) return 0;
  // Acknowledged before: the same stick again.
  if (own === undefined && to < nextSeq(state)) return 0;
  if (own !== head) {
    if (isContradictionTold(state, to, head)) return undefined;
    appendEvent(agent, {
      type: 'receipt',
      outcome: 'failed',
      code: 'RECEIPT_INVALID',
      message: `the hub acknowledges event ${to} with another content than the one told here; nothing was let go`,
      detail: { from, to, head, own: own ?? null },
    });
    return undefined;
  }
  const { changes } = state.db.prepare('DELETE FROM outbox WHERE seq <= ?').run(to);
  if (tell) appendEvent(agent, { type: 'receipt', detail: { to, events: changes } });
  return changes;
};

const enrolledAt = ({ request }: Agent['identity']): Date => parseTime((JSON.parse(request) as Request).at);

/** The same contradiction at every poll is one. */
const isContradictionTold = (state: State, to: number, head: Digest): boolean =>
  readOutbox(state).some(({ line }) => {
    const { type, code, detail } = JSON.parse(line) as Event;
    return (
      type === 'receipt' && code === 'RECEIPT_INVALID' && detail?.['to'] === to && detail['head'] === head
    );
  });

const hashAt = ({ db }: State, seq: number): Digest | undefined =>
  (db.prepare('SELECT hash FROM outbox WHERE seq = ?').get(seq) as { hash: Digest } | undefined)?.hash;

const nextSeq = ({ db }: State): number =>
  (db.prepare('SELECT next_seq FROM chain').get() as { next_seq: number }).next_seq;
