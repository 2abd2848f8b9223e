import { expect, it } from 'vitest';
import { durationMs } from '../../bundles/duration.ts';

it('durationMs converts s, m, h, d and w to milliseconds', () => {
  expect(['30s', '5m', '2h', '14d', '2w'].map(durationMs)).toEqual([
    30_000, 300_000, 7_200_000, 1_209_600_000, 1_209_600_000,
  ]);
});
