import { describe, expect, it } from 'vitest';
import { createRetries, createRetryBudget } from '#bundles/transport/registry/http/retry-budget';

const retriesWith = (random: number) => {
  const delays: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    delays.push(ms);
  };
  return { delays, retries: createRetries({ plainHttp: [], env: {}, sleep, random: () => random }) };
};

describe('the retries of one request', () => {
  it('are four, each after twice the pause before, plus up to 50 % jitter', async () => {
    for (const [random, expected] of [
      [0, [500, 1000, 2000, 4000]],
      [1, [750, 1500, 3000, 6000]],
    ] as const) {
      const { delays, retries } = retriesWith(random);
      const answers = [];
      for (let times = 0; times < 5; times++) answers.push(await retries.wait(undefined, undefined));
      expect(answers).toEqual([true, true, true, true, false]);
      expect(delays).toEqual(expected);
    }
  });

  it('are as many as the caller asks for', async () => {
    const retries = createRetries({ plainHttp: [], env: {}, sleep: async () => {}, tries: 2 });
    expect(await retries.wait(undefined, undefined)).toBe(true);
    expect(await retries.wait(undefined, undefined)).toBe(false);
  });

  it('wait for Retry-After, but at most a minute', async () => {
    const { delays, retries } = retriesWith(0);
    await retries.wait(7000, undefined);
    await retries.wait(3_600_000, undefined);
    await retries.wait(1, undefined);
    expect(delays).toEqual([7000, 60_000, 2000]);
  });

  it('log each pause with its length, the host, and whether the host requested it', async () => {
    const pauses: unknown[] = [];
    const retries = createRetries({
      plainHttp: [],
      env: {},
      random: () => 0,
      sleep: async () => {},
      onWait: (pause) => pauses.push(pause),
    });
    await retries.wait(undefined, undefined, 'registry.example');
    await retries.wait(7000, undefined, 'tokens.example');
    await retries.wait(86_400_000, undefined, 'tokens.example');
    expect(pauses).toEqual([
      { ms: 500, asked: false, host: 'registry.example' },
      { ms: 7000, asked: true, host: 'tokens.example', askedMs: 7000 },
      { ms: 60_000, asked: true, host: 'tokens.example', askedMs: 86_400_000 },
    ]);
  });

  it('start again after progress', async () => {
    const { delays, retries } = retriesWith(0);
    for (let times = 0; times < 20; times++) {
      expect(await retries.wait(undefined, undefined)).toBe(true);
      retries.renew();
    }
    expect(new Set(delays)).toEqual(new Set([500]));
  });
});

describe('the retry budget of many requests to one registry', () => {
  const requests = () => {
    const clock = { now: 0, slept: 0 };
    const budget = createRetryBudget(() => clock.now);
    const sleep = async (ms: number): Promise<void> => {
      clock.now += ms;
      clock.slept += ms;
    };
    const options = { plainHttp: [], env: {}, random: () => 0, sleep };
    return { clock, budget, begin: () => createRetries(options, budget) };
  };
  const failOnce = (retries: ReturnType<typeof createRetries>) => retries.wait(undefined, undefined);
  const giveUp = async (retries: ReturnType<typeof createRetries>): Promise<number> => {
    let tries = 1;
    while (await failOnce(retries)) tries += 1;
    return tries;
  };

  it('is used up for all requests when one has given up without progress', async () => {
    const { begin } = requests();
    const other = begin();
    expect(await failOnce(other)).toBe(true);
    expect(await giveUp(begin())).toBe(5);
    expect(await failOnce(other)).toBe(false);
    expect(await giveUp(begin())).toBe(1);
  });

  it('is restored for all requests when one succeeds', async () => {
    const { begin, budget } = requests();
    await giveUp(begin());
    budget.succeeded();
    expect(await giveUp(begin())).toBe(5);
  });

  it('remains for the others when one gives up while they succeed', async () => {
    const { begin, budget } = requests();
    const one = begin();
    expect(await failOnce(one)).toBe(true);
    budget.succeeded();
    expect(await giveUp(one)).toBe(4);
    expect(await failOnce(begin())).toBe(true);
  });

  it('is restored after two minutes without a failure', async () => {
    const { begin, clock } = requests();
    await giveUp(begin());
    clock.now += 119_000;
    expect(await giveUp(begin())).toBe(1);
    clock.now += 120_000;
    expect(await giveUp(begin())).toBe(5);
  });

  it('is not restored while requests keep failing, for any duration of each', async () => {
    const { begin, clock } = requests();
    await giveUp(begin());
    for (let blobs = 0; blobs < 1000; blobs += 1) {
      const one = begin();
      clock.now += 300_000;
      expect(await giveUp(one)).toBe(1);
    }
  });

  it('is four minutes in all for a registry that asks for pauses of an hour', async () => {
    const { begin, clock } = requests();
    for (let blobs = 0; blobs < 1000; blobs += 1) {
      const one = begin();
      while (await one.wait(3_600_000, undefined));
    }
    expect(clock.slept).toBe(240_000);
  });

  it('allows one hour of pauses in all for a server that makes progress, and then fails', async () => {
    const { begin, clock, budget } = requests();
    const throttled = async (): Promise<void> => {
      await begin().wait(60_000, undefined, 'registry.example:5000');
      budget.succeeded();
    };
    for (let minute = 0; minute < 60; minute += 1) await throttled();
    await expect(throttled()).rejects.toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: 'registry.example:5000 has repeatedly requested pauses, 60 minutes in all',
    });
    expect(clock.slept).toBe(3_600_000);
    clock.now += 120_000;
    await throttled();
  });

  it('counts concurrent pauses once', async () => {
    const { begin, clock } = requests();
    const sleeping = Array.from({ length: 100 }, () => {
      const one = begin().wait(60_000, undefined);
      clock.now = 0;
      return one;
    });
    expect(await Promise.all(sleeping)).not.toContain(false);
  });
});
