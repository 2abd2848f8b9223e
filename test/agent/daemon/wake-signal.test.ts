import { describe, expect, it } from 'vitest';
import { createWakeSignal, sleep } from '../../../agent/daemon/wake-signal.ts';

const stop = (): AbortController => new AbortController();

describe('sleep', () => {
  it('of more than the longest timer of Node.js does not end at once', async () => {
    const end = stop();
    const rest = sleep(2 ** 40, end.signal);
    const first = await Promise.race([rest.then(() => 'ended'), sleep(20).then(() => 'still resting')]);
    expect(first).toBe('still resting');
    end.abort();
    await rest;
  });

  it('ends at a wake-up signal, also at one sent before it began, and each signal ends one rest', async () => {
    const end = stop();
    const signal = createWakeSignal(sleep, end.signal);
    signal.wake();
    await signal.rest(60_000);
    const rest = signal.rest(60_000);
    signal.wake();
    await rest;
    const last = signal.rest(60_000);
    end.abort();
    await last;
  });
});
