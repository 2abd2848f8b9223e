import { expect, it } from 'vitest';
import { batched } from '../../../../scheduler/load/sources/batched.ts';

it('batched collects jobs during a run into the next one, and gives each job its own result', async () => {
  const runs: (readonly number[])[] = [];
  const double = batched(async (jobs: readonly number[]) => {
    runs.push(jobs);
    await Promise.resolve();
    return jobs.map((job) => 2 * job);
  });
  const first = double(1);
  await Promise.resolve();
  expect(await Promise.all([first, double(2), double(3), double(4)])).toEqual([2, 4, 6, 8]);
  expect(runs).toEqual([[1], [2, 3, 4]]);
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
