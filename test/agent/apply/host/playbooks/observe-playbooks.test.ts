import { expect, test } from 'vitest';
import { isLookDue } from '../../../../../agent/apply/host/playbooks/observe-playbooks.ts';

test('isLookDue: a playbook check is due without an earlier one, after the interval, and when the clock was set back', () => {
  expect(isLookDue(undefined, 60, 1_000)).toBe(true);
  expect(isLookDue({ at: 1_000 }, 60, 60_999)).toBe(false);
  expect(isLookDue({ at: 1_000 }, 60, 61_000)).toBe(true);
  expect(isLookDue({ at: 1_000 }, 60, 999)).toBe(true);
});
