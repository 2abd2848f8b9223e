import { expect, test } from 'vitest';
import { type Admission, createAdmission } from '../../../scheduler/serve/admit.ts';

const limits = { places: 2, each: 2, queue: 2, waitMs: 10_000 };
const counts = ({ inside, waiting }: Admission) => ({ inside: inside(), waiting: waiting() });

test('so many are inside, so many wait, and all others are told to come back', async () => {
  const admission = createAdmission(limits);
  const leave = [await admission.enter('a'), await admission.enter('b')];
  const order: string[] = [];
  const waiting = ['c', 'd'].map(async (who) => {
    const gone = await admission.enter(who);
    order.push(who);
    return gone;
  });
  expect(counts(admission)).toEqual({ inside: 2, waiting: 2 });
  await expect(admission.enter('e')).rejects.toMatchObject({ code: 'BUSY' });
  leave[0]?.();
  leave[1]?.();
  for (const entered of waiting) (await entered)();
  expect(order).toEqual(['c', 'd']);
  expect(counts(admission)).toEqual({ inside: 0, waiting: 0 });
});

test('who leaves twice has left once', async () => {
  const admission = createAdmission({ ...limits, places: 1 });
  const leave = await admission.enter('a');
  leave();
  leave();
  await admission.enter('b');
  expect(counts(admission)).toEqual({ inside: 1, waiting: 0 });
});

test('nobody takes all places', async () => {
  const admission = createAdmission({ ...limits, places: 10 });
  const [leave] = [await admission.enter('a'), await admission.enter('a')];
  await expect(admission.enter('a')).rejects.toMatchObject({
    code: 'BUSY',
    message: 'a is already handing over 2 reports',
  });
  await admission.enter('b');
  leave?.();
  await admission.enter('a');
});

test('who has waited long enough is told to come back, and takes no place later', async () => {
  const admission = createAdmission({ ...limits, places: 1, waitMs: 5 });
  const leave = await admission.enter('a');
  await expect(admission.enter('b')).rejects.toMatchObject({ code: 'BUSY' });
  expect(counts(admission)).toEqual({ inside: 1, waiting: 0 });
  leave();
  expect(counts(admission)).toEqual({ inside: 0, waiting: 0 });
  await admission.enter('b');
});
