import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { watchWakeups, wakeDaemon } from '../../../agent/store/wake-daemon.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

it('wakeDaemon wakes a watching daemon, until that ends', async () => {
  await using folder = await temporaryDirectory('neighbour');
  const end = new AbortController();
  let rings = 0;
  // Nobody listens yet, which is no mistake.
  wakeDaemon(folder.path, 'changed', new Date());
  watchWakeups(folder.path, 'changed', () => rings++, end.signal);
  wakeDaemon(folder.path, 'changed', new Date(0));
  await expect.poll(() => rings, { interval: 10 }).toBeGreaterThan(0);
  end.abort();
  await sleep(20);
  const before = rings;
  wakeDaemon(folder.path, 'changed', new Date());
  await sleep(50);
  expect(rings).toBe(before);
});
