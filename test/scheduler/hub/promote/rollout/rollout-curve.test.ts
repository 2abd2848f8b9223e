import { expect, test } from 'vitest';
import { formatTime, HOUR_MS } from '#bundles/time';
import { curveOf } from '../../../../../scheduler/hub/promote/rollout/rollout-curve.ts';

const START = new Date('2026-11-20T08:00:00Z');
const after = (hours: number): Date => new Date(START.getTime() + hours * HOUR_MS);

const complying = (name: string, hours: number) => ({
  site: name,
  agent: 'line-1',
  labels: {},
  enrolledAt: formatTime(after(-100)),
  heardAt: formatTime(after(0)),
  state: { kind: 'complies' as const, since: formatTime(after(hours)) },
});

test('the curve of a rollout rises when an agent starts to comply, and ends with the counts of its stages', () => {
  // The first one ran these packages before the rollout.
  const [before, pilot, last] = [complying('a', -5), complying('b', 20), complying('c', 70)];
  const curve = curveOf([[before, pilot], [before, last, pilot], []], formatTime(START), after(100));
  const rises = curve.filter(({ complies }, at) => complies.join() !== curve[at - 1]?.complies.join());
  expect(rises).toEqual([
    { at: formatTime(START), complies: [1, 1, 0] },
    { at: formatTime(after(20)), complies: [2, 2, 0] },
    { at: formatTime(after(70)), complies: [2, 3, 0] },
  ]);
  expect(curve.at(-1)).toEqual({ at: formatTime(after(100)), complies: [2, 3, 0] });
});

test('the curve of a rollout is empty before its start, and has one time at its start', () => {
  expect(curveOf([[complying('a', 1)]], undefined, after(2))).toEqual([]);
  expect(new Set(curveOf([[]], formatTime(START), START).map(({ at }) => at))).toEqual(
    new Set([formatTime(START)]),
  );
});
