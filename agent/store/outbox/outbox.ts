import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { type Event, encodeEvent, hashLine, MAX_EVENT_BYTES } from '#bundles/formats/events/event';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { fullName } from '../identity.ts';
import type { State } from '../state.ts';

/** An event without its agent, time and position in the chain, which `appendEvent` adds. */
export type NewEvent = Omit<Event, 'agent' | 'seq' | 'prev' | 'bootId' | 'at' | 'monotonicMs'>;

const MAX_MESSAGE = 4000;

/**
 * Appends to the chain of events (docs/bundle-format.md section 9). Must run inside the transaction of the change that it
 * reports, so that neither is stored without the other. @throws TypeError outside a transaction
 */
export const appendEvent = (
  { state, identity, edge }: Pick<Agent, 'state' | 'identity' | 'edge'>,
  happening: NewEvent,
): void => {
  const { db } = state;
  if (!db.inTransaction) throw new TypeError(`the event ${happening.type} is recorded outside a transaction`);
  const { next_seq: seq, head } = db.prepare('SELECT next_seq, head FROM chain').get() as {
    next_seq: number;
    head: Digest;
  };
  const line = encodeFitting({
    ...happening,
    // U+FFFD in place of half a character at the end, which is no UTF-8.
    ...defined({ message: happening.message?.slice(0, MAX_MESSAGE).toWellFormed() }),
    agent: fullName(identity),
    seq,
    prev: head,
    bootId: edge.bootId,
    at: formatTime(edge.now()),
    monotonicMs: edge.monotonicMs(),
  });
  const hash = hashLine(line);
  db.prepare('INSERT INTO outbox (seq, hash, line) VALUES (?, ?, ?)').run(seq, hash, line);
  db.prepare('UPDATE chain SET next_seq = ?, head = ?').run(seq + 1, hash);
};

/** A line that readers take: the lists in its detail are left out where it would be too long, then all of the detail. */
const encodeFitting = ({ detail, ...event }: Event): string => {
  const short = Object.entries(detail ?? {}).filter(([, value]) => !Array.isArray(value));
  for (const kept of [detail, Object.fromEntries(short)]) {
    const line = encodeEvent({ ...event, ...defined({ detail: kept }) });
    if (Buffer.byteLength(line) <= MAX_EVENT_BYTES) return line;
  }
  return encodeEvent(event);
};

/** One line: an event, or a `compacted` one that replaces the events up to `lastSeq` and has the `hash` of the last of them. */
export type OutboxLine = {
  readonly seq: number;
  readonly lastSeq: number;
  readonly hash: Digest;
  readonly line: string;
};

/** Unacknowledged events, in order. */
export const readOutbox = ({ db }: State): readonly OutboxLine[] =>
  db
    .prepare('SELECT seq, coalesce(last_seq, seq) AS lastSeq, hash, line FROM outbox ORDER BY seq')
    .all() as OutboxLine[];

/** Unacknowledged events after a number, in order, without compacted ones: those only repeat others. */
export const readEventsAfter = ({ db }: State, seq: number): readonly Omit<OutboxLine, 'lastSeq'>[] =>
  db
    .prepare('SELECT seq, hash, line FROM outbox WHERE seq > ? AND last_seq IS NULL ORDER BY seq')
    .all(seq) as OutboxLine[];

/** Number of the newest event, also of one that was acknowledged; 0 without any. */
export const lastEvent = ({ db }: State): number =>
  (db.prepare('SELECT next_seq FROM chain').pluck().get() as number) - 1;

export type OutboxSize = {
  readonly events: number;
  readonly bytes: number;
  readonly from: number | null;
  readonly to: number | null;
};

export const outboxSize = ({ db }: State): OutboxSize =>
  db
    .prepare(
      `SELECT count(*) AS events, coalesce(sum(length(line)), 0) AS bytes, min(seq) AS "from",
              max(coalesce(last_seq, seq)) AS "to"
       FROM outbox`,
    )
    .get() as OutboxSize;
