import { expect, test } from 'vitest';
import { createQuota } from '../../../../scheduler/hub/http/quota.ts';

test('gives so much a minute to each, and says when to come back', () => {
  let now = 0;
  const quota = createQuota({ perMinute: 60, burst: 100 }, () => now);
  expect(quota.take('a', 100)).toBe(0);
  expect(quota.take('a', 30)).toBe(30);
  expect(quota.take('b', 100)).toBe(0);
  now = 29_000;
  expect(quota.take('a', 30)).toBe(1);
  now = 30_000;
  expect(quota.take('a', 30)).toBe(0);
  expect(quota.take('a', 1)).toBe(1);
});

test('what is more than can be taken at once needs a full bucket', () => {
  let now = 0;
  const quota = createQuota({ perMinute: 60 }, () => now);
  expect(quota.take('a', 1000)).toBe(0);
  expect(quota.take('a', 1000)).toBe(60);
  now = 60_000;
  expect(quota.take('a', 1000)).toBe(0);
});

test('forgets those whose bucket is full again', () => {
  let now = 0;
  const quota = createQuota({ perMinute: 60 }, () => now);
  for (let who = 0; who < 20_000; who++) {
    now += 1000;
    expect(quota.take(String(who), 60)).toBe(0);
  }
  expect(quota.size()).toBeLessThan(10_100);
});
