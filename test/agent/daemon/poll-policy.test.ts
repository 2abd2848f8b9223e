import { expect, it } from 'vitest';
import { pauseMs } from '#bundles/retry';
import { pollPolicy } from '../../../agent/daemon/poll-policy.ts';

it('the pause between polls grows with every failure up to two minutes, and is spread by a fifth', () => {
  const waits = [1, 2, 3, 99].map((failures) => pauseMs(pollPolicy(60_000), failures, () => 0.5) / 60_000);
  expect(waits).toEqual([1, 2, 2, 2]);
  expect([0, 1].map((random) => pauseMs(pollPolicy(60_000), 1, () => random))).toEqual([48_000, 72_000]);
  expect(pauseMs(pollPolicy(3_600_000), 9, () => 0.5)).toBe(3_600_000);
});
