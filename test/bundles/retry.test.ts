import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { pauseMs, type RetryPolicy, retry, retryAfter, spread } from '#bundles/retry';

const POLICY: RetryPolicy = { firstMs: 500, longestMs: 3000, tries: 5, jitter: 'none' };

const pauses = (jitter: RetryPolicy['jitter'], random: number): readonly number[] =>
  [1, 2, 3, 4, 5000].map((failures) => pauseMs({ ...POLICY, jitter }, failures, () => random));

describe('the pause before a retry', () => {
  it('doubles with each failure, up to the longest', () => {
    expect(pauses('none', 0.7)).toEqual([500, 1000, 2000, 3000, 3000]);
    expect(pauseMs(POLICY, 0)).toBe(500);
  });

  it('with jitter "longer" adds up to 50 %, and never exceeds the maximum', () => {
    expect(pauses('longer', 0)).toEqual([500, 1000, 2000, 3000, 3000]);
    expect(pauses('longer', 1)).toEqual([750, 1500, 3000, 3000, 3000]);
  });

  it('with jitter "around" varies by 20 % in both directions, also at the maximum', () => {
    expect(pauses('around', 0)).toEqual([400, 800, 1600, 2400, 2400]);
    expect(pauses('around', 1)).toEqual([600, 1200, 2400, 3600, 3600]);
    expect([0, 1].map((random) => spread(1000, 'around', () => random))).toEqual([800, 1200]);
  });

  it('is at least the Retry-After of the server, up to the maximum', () => {
    for (const random of [0, 0.5, 1]) {
      const policy = { ...POLICY, jitter: 'longer' } as const;
      expect([2500, 86_400_000].map((asked) => pauseMs(policy, 1, () => random, asked))).toEqual([
        2500, 3000,
      ]);
    }
  });
});

describe('retry', () => {
  const unreachable = new FleetError('HUB_UNREACHABLE', 'the hub does not answer');

  /** Fails with `errors`, one after the other, and then succeeds. */
  const failingWith = (...errors: readonly unknown[]) => {
    const left = [...errors];
    const slept: number[] = [];
    return {
      slept,
      sleep: async (ms: number): Promise<void> => void slept.push(ms),
      operation: async (): Promise<string> => {
        if (left.length > 0) throw left.shift();
        return 'done';
      },
    };
  };

  it('returns the first success', async () => {
    const { operation, sleep, slept } = failingWith(unreachable, unreachable);
    expect(await retry(POLICY, operation, { sleep })).toBe('done');
    expect(slept).toEqual([500, 1000]);
  });

  it('throws the last error when the tries are used up', async () => {
    const last = new FleetError('HUB_UNREACHABLE', 'the last');
    const { operation, sleep, slept } = failingWith(unreachable, last);
    await expect(retry({ ...POLICY, tries: 2 }, operation, { sleep })).rejects.toBe(last);
    expect(slept).toEqual([500]);
  });

  it('does not limit the tries where the policy does not', async () => {
    const { tries: _, ...endless } = POLICY;
    const { operation, sleep, slept } = failingWith(...Array.from({ length: 100 }, () => unreachable));
    expect(await retry(endless, operation, { sleep })).toBe('done');
    expect(slept).toHaveLength(100);
  });

  it.each([
    new FleetError('HUB_REFUSED', 'the hub refuses'),
    new FleetError('ABORTED', 'stopped'),
    new Error('a fault of the program'),
  ])('throws %s at once', async (error) => {
    const { operation, sleep, slept } = failingWith(error);
    await expect(retry(POLICY, operation, { sleep })).rejects.toBe(error);
    expect(slept).toEqual([]);
  });

  it("uses the caller's isRetryable and askedMs to classify an error and to read its Retry-After", async () => {
    const reset = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    const { operation, sleep, slept } = failingWith(reset, unreachable);
    const isRetryable = (error: unknown): boolean => error === reset;
    await expect(retry(POLICY, operation, { sleep, isRetryable, askedMs: () => 2200 })).rejects.toBe(
      unreachable,
    );
    expect(slept).toEqual([2200]);
  });

  it('aborts a pause when the signal aborts', async () => {
    const { operation } = failingWith(unreachable);
    const policy = { ...POLICY, firstMs: 60_000, longestMs: 60_000 };
    await expect(retry(policy, operation, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });
});

describe('Retry-After', () => {
  const asking = (headers: Readonly<Record<string, string | undefined>>) =>
    retryAfter((name) => headers[name]);

  it('is in seconds, or a date relative to the Date of the response, independent of the local clock', () => {
    expect(asking({ 'retry-after': '3' })).toBe(3000);
    const date = 'Wed, 01 Jan 2003 00:00:00 GMT';
    expect(asking({ 'retry-after': 'Wed, 01 Jan 2003 00:00:20 GMT', date })).toBe(20_000);
    expect(asking({ 'retry-after': 'Tue, 31 Dec 2002 23:59:20 GMT', date })).toBe(0);
  });

  it.each([
    {},
    { 'retry-after': '-1' },
    { 'retry-after': 'soon' },
    { 'retry-after': 'Wed, 01 Jan 2003 00:00:20 GMT' },
  ])('is ignored in %j', (headers) => {
    expect(asking(headers)).toBeUndefined();
  });
});
