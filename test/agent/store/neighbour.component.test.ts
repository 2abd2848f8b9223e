import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { hearNeighbour, ringNeighbour } from '../../../agent/store/neighbour.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

it('a command is heard by the daemon beside it, until that ends', async () => {
  await using folder = await temporaryDirectory('neighbour');
  const end = new AbortController();
  let rings = 0;
  // Nobody listens yet, which is no mistake.
  ringNeighbour(folder.path, 'changed', new Date());
  hearNeighbour(folder.path, 'changed', () => rings++, end.signal);
  ringNeighbour(folder.path, 'changed', new Date(0));
  await expect.poll(() => rings, { interval: 10 }).toBeGreaterThan(0);
  end.abort();
  await sleep(20);
  const before = rings;
  ringNeighbour(folder.path, 'changed', new Date());
  await sleep(50);
  expect(rings).toBe(before);
});
