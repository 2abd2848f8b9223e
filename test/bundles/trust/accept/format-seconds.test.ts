import { expect, it } from 'vitest';
import { formatSeconds } from '../../../../bundles/trust/accept/format-seconds.ts';

it.each([
  [14 * 86_400, '14 days'],
  [86_400, '1 day'],
  [36 * 3600, '36 hours'],
  [90 * 60, '90 minutes'],
  [3601, '3601 seconds'],
  [1, '1 second'],
])('%i seconds are %s', (seconds, words) => {
  expect(formatSeconds(seconds)).toBe(words);
});
