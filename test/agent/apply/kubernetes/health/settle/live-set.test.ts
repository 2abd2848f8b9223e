import { expect, it } from 'vitest';
import { keepLiveSet } from '../../../../../../agent/apply/kubernetes/health/settle/live-set.ts';
import { memoryApi } from '../../memory-api.ts';
import { virtualClock } from '../../virtual-clock.ts';
import { condition, job } from '../live-objects.ts';

it('the last state of an object that was made again is not that of its predecessor', async () => {
  using clock = virtualClock();
  const api = memoryApi();
  const stop = new AbortController();
  const on = { news: () => {}, error: () => {} };
  const type = { apiVersion: 'batch/v1', kind: 'Job' };
  const set = keepLiveSet(api, type, {}, (one) => one, on, stop.signal, clock);
  const failed = job({ conditions: [condition('Failed', 'True', 'BackoffLimitExceeded', 'x')] });
  const place = 'web/order-api';
  api.put(failed);
  await expect.poll(() => set.objects()?.has(place)).toBe(true);
  api.drop(failed);
  await expect.poll(() => set.last(place)).toMatchObject({ status: failed['status'] });
  api.put(job({ active: 1 }));
  await expect.poll(() => set.objects()?.has(place)).toBe(true);
  // Its deletion is lost with the history of the server.
  api.drop(job());
  api.compact();
  await expect.poll(() => set.objects()?.has(place)).toBe(false);
  expect(set.last(place)).toBeUndefined();
  stop.abort();
});
