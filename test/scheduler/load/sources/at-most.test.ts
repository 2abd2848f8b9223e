import { expect, it } from 'vitest';
import { atMost } from '../../../../scheduler/load/sources/at-most.ts';

it('atMost runs as many works at a time as it may, in order, also after one has failed', async () => {
  const run = atMost(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  const works = ends.map(({ promise }, at) =>
    run(() => {
      begun.push(at);
      return promise;
    }),
  );
  const settled = Promise.allSettled(works);
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error('the second failed'));
  await expect(works[1]).rejects.toThrow('the second failed');
  expect(begun).toEqual([0, 1, 2]);
  for (const [at, { resolve }] of ends.entries()) resolve(at);
  expect((await settled).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ]);
  expect(begun).toEqual([0, 1, 2, 3]);
});
