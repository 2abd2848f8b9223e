import { expect, test } from 'vitest';
import { createQuota } from '../../../../scheduler/hub/http/quota.ts';

test('a quota allows an amount per minute and caller, and returns the seconds to wait', () => {
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

test('a request above the burst size requires a full bucket', () => {
  let now = 0;
  const quota = createQuota({ perMinute: 60 }, () => now);
  expect(quota.take('a', 1000)).toBe(0);
  expect(quota.take('a', 1000)).toBe(60);
  now = 60_000;
  expect(quota.take('a', 1000)).toBe(0);
});

test('callers whose bucket is full are dropped from memory', () => {
  let now = 0;
  const quota = createQuota({ perMinute: 60 }, () => now);
  for (let who = 0; who < 20_000; who++) {
    now += 1000;
    expect(quota.take(String(who), 60)).toBe(0);
  }
  expect(quota.size()).toBeLessThan(10_100);
});
