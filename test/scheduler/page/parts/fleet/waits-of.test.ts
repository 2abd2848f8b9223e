import { expect, test } from 'vitest';
import { waitsOf } from '../../../../../scheduler/page/parts/fleet/waits-of.ts';

const NONE = { releases: [], values: 0, enrolments: 0, overdue: 0, held: 0 };

const waits = (unmet: readonly string[]) =>
  waitsOf({
    links: [
      {
        from: 'qa',
        to: 'prod',
        mode: 'automatic',
        state: 'waiting',
        candidate: null,
        waitsFor: unmet[0] ?? null,
        unmet: [...unmet],
        why: null,
        since: '2026-11-01T00:00:00Z',
      },
    ],
    waits: NONE,
  });

test('an approval that will be needed is listed while other conditions are not met, with their names', () => {
  expect(waits(['soak', 'approvals', 'window'])).toEqual([
    { what: 'qa to prod: an approval', to: '/pipeline', details: ['Not met yet, too: soak, window'] },
  ]);
  expect(waits(['approvals'])).toEqual([{ what: 'qa to prod: an approval', to: '/pipeline', details: [] }]);
});

test('a gate that waits for no person is not listed', () => {
  expect(waits(['soak'])).toEqual([]);
});
