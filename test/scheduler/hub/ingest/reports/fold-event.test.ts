import { expect, test } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import { emptyState, foldEvent } from '../../../../../scheduler/hub/ingest/reports/fold-event.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as const;
const event = (seq: number, type: string, more: Partial<Event> = {}): Event => ({
  agent: 'plant-7/press-2',
  seq,
  prev: digest('0'),
  bootId: 'boot',
  at: '2026-11-21T08:00:00Z',
  monotonicMs: seq,
  type,
  assignment: 'oven',
  ...more,
});
const fold = (events: readonly Event[]) =>
  events.reduce((state, one) => foldEvent(state, one, digest('f')), emptyState('plant-7/press-2', 'oven'));

const STORY = [
  event(1, 'package', { outcome: 'created', package: digest('a') }),
  event(2, 'drift', { code: 'DRIFT', message: '1 objects differ from the package' }),
  event(3, 'corrected', { outcome: 'configured' }),
];

test('a drift lasts until its correction', () => {
  expect(fold(STORY.slice(0, 2)).drifted).toBe(1);
  expect(fold(STORY).drifted).toBe(0);
});

test('the state is the same for any order of reports', () => {
  expect(fold(STORY.toReversed())).toEqual(fold(STORY));
});

test('a correction does not change the running package', () => {
  expect(fold(STORY)).toMatchObject({ package: digest('a'), running_seq: 1 });
});

test('a drift that someone else corrected is over', () => {
  expect(fold([...STORY.slice(0, 2), event(3, 'drift', { outcome: 'unchanged' })]).drifted).toBe(0);
});

test('a removed package no longer runs', () => {
  expect(fold([...STORY, event(4, 'removed', { outcome: 'deleted', package: digest('a') })])).toMatchObject({
    package: null,
    outcome: 'deleted',
  });
});

test('a failed step leaves the running package', () => {
  const failed = event(4, 'package', { outcome: 'failed', package: digest('b'), code: 'CHECK_FAILED' });
  expect(fold([...STORY, failed])).toMatchObject({
    package: digest('a'),
    outcome: 'failed',
    code: 'CHECK_FAILED',
  });
});

test('a rolled-back package stays failed when the checks of the previous version pass', () => {
  const back = [
    event(4, 'package', { outcome: 'failed', package: digest('b'), code: 'CHECK_FAILED' }),
    event(5, 'check', { outcome: 'failed', package: digest('b'), code: 'CHECK_FAILED' }),
    event(6, 'rolled-back', { outcome: 'configured', package: digest('a'), code: 'CHECK_FAILED' }),
    event(7, 'check', { package: digest('a') }),
  ];
  expect(fold([...STORY, ...back])).toMatchObject({ outcome_type: 'rolled-back', code: 'CHECK_FAILED' });
  expect(fold([...STORY, ...back].toReversed())).toMatchObject({ outcome_type: 'rolled-back' });
});
