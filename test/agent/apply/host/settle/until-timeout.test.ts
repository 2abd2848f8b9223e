import { once } from 'node:events';
import { expect, it } from 'vitest';
import { untilTimeout } from '../../../../../agent/apply/host/settle/until-timeout.ts';

const CHECK = { name: 'broker', timeoutSeconds: 0.3 };
const never = new AbortController().signal;

const untilAborted = async (limit: AbortSignal) => {
  await once(limit, 'abort');
  return { outcome: 'failed', message: 'no answer' } as const;
};

it('untilTimeout reports the reason of the last complete attempt when the timeout cuts off the next one', async () => {
  let looks = 0;
  const result = await untilTimeout(CHECK, false, never, async (limit) => {
    looks += 1;
    return looks === 1 ? { outcome: 'failed', message: 'ECONNREFUSED' } : untilAborted(limit);
  });
  expect(looks).toBe(2);
  expect(result.message).toBe('ECONNREFUSED (tried for 0.3 s)');
});

it('untilTimeout reports "no answer" when the timeout cuts off the first attempt', async () => {
  const result = await untilTimeout({ ...CHECK, timeoutSeconds: 0.01 }, false, never, untilAborted);
  expect(result.message).toBe('no answer (tried for 0.01 s)');
});
