import type { Event, Outcome } from '#bundles/formats/events/event';
import { parseTime, type Timestamp } from '#bundles/time';
import { lastOperations, type Operation, readResults } from '../store/journal/operations.ts';
import { readOutbox } from '../store/outbox/outbox.ts';
import type { State } from '../store/state.ts';

export type PastOperation = {
  readonly id: number;
  readonly at: Timestamp;
  readonly seconds: number | null;
  readonly assignment: string;
  readonly kind: Operation['kind'];
  readonly outcome: Operation['outcome'] | 'unfinished';
  /** Number of objects by outcome. */
  readonly objects: { readonly [outcome in Outcome]?: number };
  readonly code: string | null;
  readonly message: string | null;
};

export type History = { readonly operations: readonly PastOperation[]; readonly events: readonly Event[] };

/** The last operations and the last unacknowledged events, newest first, at most `limit` of each. */
export const readHistory = (state: State, limit: number): History => ({
  operations: lastOperations(state, limit).map((operation) => pastOperation(state, operation)),
  events: readOutbox(state)
    .slice(-limit)
    .toReversed()
    .map(({ line }) => JSON.parse(line) as Event),
});

const pastOperation = (state: State, operation: Operation): PastOperation => {
  const { id, assignment, kind, outcome, code, message, startedAt, endedAt } = operation;
  const objects: Partial<Record<Outcome, number>> = {};
  for (const result of readResults(state, { id, rollingBack: false })) {
    objects[result.outcome] = (objects[result.outcome] ?? 0) + 1;
  }
  return {
    id,
    at: startedAt,
    seconds: endedAt ? (parseTime(endedAt).getTime() - parseTime(startedAt).getTime()) / 1000 : null,
    assignment,
    kind,
    outcome: outcome ?? 'unfinished',
    objects,
    code: code ?? null,
    message: message ?? null,
  };
};
