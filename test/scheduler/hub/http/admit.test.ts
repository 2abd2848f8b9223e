import { expect, test } from 'vitest';
import {
  type Admission,
  type AdmissionLimits,
  createAdmission,
} from '../../../../scheduler/hub/http/admit.ts';

const limits: AdmissionLimits = { bytes: 2, each: 2, queue: 2, waitMs: 10_000, slowMs: 10_000 };
const counts = ({ inside, waiting }: Admission) => ({ inside: inside(), waiting: waiting() });

test('requests above the limit wait, and requests above the queue length are refused with BUSY', async () => {
  const admission = createAdmission(limits);
  const places = [await admission.enter('a', 1), await admission.enter('b', 1)];
  const order: string[] = [];
  const waiting = ['c', 'd'].map(async (who) => {
    const place = await admission.enter(who, 1);
    order.push(who);
    return place;
  });
  expect(counts(admission)).toEqual({ inside: 2, waiting: 2 });
  await expect(admission.enter('e', 1)).rejects.toMatchObject({ code: 'BUSY' });
  places[0]?.leave();
  places[1]?.leave();
  for (const entered of waiting) (await entered).leave();
  expect(order).toEqual(['c', 'd']);
  expect(counts(admission)).toEqual({ inside: 0, waiting: 0 });
});

test('leaving twice frees one place', async () => {
  const admission = createAdmission({ ...limits, bytes: 1 });
  const place = await admission.enter('a', 1);
  place.leave();
  place.leave();
  await admission.enter('b', 1);
  expect(counts(admission)).toEqual({ inside: 1, waiting: 0 });
});

test('one agent cannot take all places', async () => {
  const admission = createAdmission({ ...limits, bytes: 10 });
  const [place] = [await admission.enter('a', 1), await admission.enter('a', 1)];
  await expect(admission.enter('a', 1)).rejects.toMatchObject({
    code: 'BUSY',
    message: 'a has 2 requests open already',
  });
  await admission.enter('b', 1);
  place?.leave();
  await admission.enter('a', 1);
});

test('a request that waited too long is refused with BUSY, and takes no place later', async () => {
  const admission = createAdmission({ ...limits, bytes: 1, waitMs: 5 });
  const place = await admission.enter('a', 1);
  await expect(admission.enter('b', 1)).rejects.toMatchObject({ code: 'BUSY' });
  expect(counts(admission)).toEqual({ inside: 1, waiting: 0 });
  place.leave();
  expect(counts(admission)).toEqual({ inside: 0, waiting: 0 });
  await admission.enter('b', 1);
});

test('limits by bytes: a large body waits until small ones finish, and a body above the limit is admitted alone', async () => {
  const admission = createAdmission({ ...limits, bytes: 10 });
  const small = await admission.enter('a', 6);
  const large = admission.enter('b', 20);
  await Promise.resolve();
  expect([admission.bytes(), admission.waiting()]).toEqual([6, 1]);
  small.leave();
  (await large).leave();
  expect(admission.bytes()).toBe(0);
});

test('a slow body is aborted when another request waits; a complete body is not', async () => {
  const admission = createAdmission({ ...limits, bytes: 2, slowMs: 0 });
  const [slow, here] = [await admission.enter('a', 1), await admission.enter('b', 1)];
  here.arrived();
  slow.signal.addEventListener('abort', slow.leave);
  const place = await admission.enter('c', 1);
  expect(slow.signal.reason).toMatchObject({ code: 'BUSY' });
  expect(here.signal.aborted).toBe(false);
  place.leave();
});
