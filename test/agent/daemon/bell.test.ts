import { describe, expect, it } from 'vitest';
import { makeBell, sleep } from '../../../agent/daemon/bell.ts';

const stop = (): AbortController => new AbortController();

describe('a rest', () => {
  it('longer than a timer of Node can hold does not end at once', async () => {
    const end = stop();
    const rest = sleep(2 ** 40, end.signal);
    const first = await Promise.race([rest.then(() => 'ended'), sleep(20).then(() => 'still resting')]);
    expect(first).toBe('still resting');
    end.abort();
    await rest;
  });

  it('ends with its bell, also one that was rung before it began, and once', async () => {
    const end = stop();
    const bell = makeBell(sleep, end.signal);
    bell.ring();
    await bell.rest(60_000);
    const rest = bell.rest(60_000);
    bell.ring();
    await rest;
    const last = bell.rest(60_000);
    end.abort();
    await last;
  });
});
