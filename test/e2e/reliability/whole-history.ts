import { expect } from 'vitest';
import { compareBytes } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { lastOperations } from '../../../agent/store/journal/operations.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import type { State } from '../../../agent/store/state.ts';

/** How many operations the agent keeps. */
const KEPT = 1000;

/**
 * Expects numbers without a gap of the events that are in the outbox, and one event of each operation that changed a package for good.
 * @returns the events
 */
export const expectWholeHistory = (state: State): readonly Event[] => {
  const lines = readOutbox(state);
  let next = lines[0]?.seq ?? 1;
  for (const { seq, lastSeq } of lines) {
    expect(seq, 'the number of an event').toBe(next);
    next = lastSeq + 1;
  }
  const events = lines.map(({ line }) => JSON.parse(line) as Event);
  // Each operation that changed a package for good has one event that does not tell of a failure.
  const told = events.filter(
    ({ type, detail, outcome }) =>
      type !== 'rolled-back' && detail?.['operation'] === 'apply' && outcome !== 'failed',
  );
  const operations = lastOperations(state, 10_000);
  const kept = operations.filter(({ kind, outcome }) => kind === 'apply' && outcome === 'kept');
  // Of a release in which the kept operations begin, some may be forgotten.
  const forgotten = operations.length < KEPT ? -1 : (operations.at(-1)?.to?.release.version ?? 0);
  const names = (list: readonly (readonly [string | undefined, number | undefined])[]) =>
    list
      .filter(([, version = 0]) => version > forgotten)
      .map(([assignment, version]) => `${assignment} ${version}`)
      .toSorted(compareBytes);
  expect(names(told.map(({ assignment, release }) => [assignment, release?.version]))).toEqual(
    names(kept.map(({ assignment, to }) => [assignment, to?.release.version])),
  );
  return events;
};
