import { once } from 'node:events';
import { expect, it } from 'vitest';
import { untilTimeout } from '../../../../../agent/apply/host/settle/until-timeout.ts';

const CHECK = { name: 'broker', timeoutSeconds: 0.3 };
const limits = { once: false, signal: new AbortController().signal };

const untilAborted = async (limit: AbortSignal) => {
  await once(limit, 'abort');
  return { outcome: 'failed', message: 'no answer' } as const;
};

it('untilTimeout reports the reason of the last complete attempt when the timeout cuts off the next one', async () => {
  const timeout = new AbortController();
  let looks = 0;
  const result = await untilTimeout(CHECK, { ...limits, timeout: timeout.signal }, async (limit) => {
    looks += 1;
    if (looks === 1) return { outcome: 'failed', message: 'ECONNREFUSED' };
    setImmediate(() => timeout.abort());
    return untilAborted(limit);
  });
  expect(looks).toBe(2);
  expect(result.message).toBe('ECONNREFUSED (tried for 0.3 s)');
});

it('untilTimeout reports "no answer" when the timeout cuts off the first attempt', async () => {
  const result = await untilTimeout({ ...CHECK, timeoutSeconds: 0.01 }, limits, untilAborted);
  expect(result.message).toBe('no answer (tried for 0.01 s)');
});
