import { expect, test } from 'vitest';
import { hubTimeIn } from '../../../../scheduler/page/api/hub-time.ts';

const AT = '2026-11-20T08:00:00Z';

test.each([
  [0, 1, '2026-11-20T09:00:00Z'],
  // A view that was read in the evening, and not changed during a quiet night.
  [10 * 3_600_000, 1, '2026-11-20T19:00:00Z'],
  // A clock that was set back meanwhile.
  [-5 * 3_600_000, 4, '2026-11-20T12:00:00Z'],
])(
  '%i ms after the answer, a silence of %i hours ends at %s by the clock of the hub',
  (since, hours, end) => {
    expect(hubTimeIn(AT, since, hours)).toBe(end);
  },
);
