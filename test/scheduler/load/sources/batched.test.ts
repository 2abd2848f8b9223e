import { expect, it } from 'vitest';
import { batched } from '../../../../scheduler/load/sources/batched.ts';

it('batched collects jobs during a run into the next one, and gives each job its own result', async () => {
  const runs: (readonly number[])[] = [];
  const started = Promise.withResolvers<void>();
  const others = Promise.withResolvers<void>();
  const double = batched(async (jobs: readonly number[]) => {
    runs.push(jobs);
    started.resolve();
    await others.promise;
    return jobs.map((job) => 2 * job);
  });
  const first = Promise.all([double(1), double(2)]);
  await started.promise;
  const next = Promise.all([double(3), double(4), double(5)]);
  others.resolve();
  expect(await first).toEqual([2, 4]);
  expect(await next).toEqual([6, 8, 10]);
  expect(runs).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
});

it('batched runs the next jobs after a failed run', async () => {
  let count = 0;
  const work = batched(async (jobs: readonly string[]) => {
    count += 1;
    if (count === 1) throw new Error('the first run failed');
    return jobs;
  });
  await expect(work('a')).rejects.toThrow('the first run failed');
  expect(await work('b')).toBe('b');
});
