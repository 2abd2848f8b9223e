import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limitDutyCycle } from '../../../../scheduler/hub/serve/limit-duty-cycle.ts';
import { type Repeated, repeat } from '../../../../scheduler/hub/serve/repeat.ts';

const fail = (error: unknown): void => {
  throw error;
};

test('repeat runs at once and again when poked, and never concurrently', async () => {
  let [rounds, inside, most] = [0, 0, 0];
  const more: PromiseWithResolvers<void>[] = [];
  const repeated = repeat(
    async () => {
      rounds += 1;
      inside += 1;
      most = Math.max(most, inside);
      const gate = Promise.withResolvers<void>();
      more.push(gate);
      await gate.promise;
      inside -= 1;
    },
    3_600_000,
    fail,
  );
  expect(rounds).toBe(1);
  // However often it is poked meanwhile, that is one more round.
  for (let time = 0; time < 3; time++) repeated.wake();
  more[0]?.resolve();
  await setTimeout(5);
  expect(rounds).toBe(2);
  more[1]?.resolve();
  await setTimeout(5);
  expect(rounds).toBe(2);
  repeated.wake();
  await setTimeout(5);
  expect(rounds).toBe(3);
  more[2]?.resolve();
  await repeated[Symbol.asyncDispose]();
  expect({ rounds, most }).toEqual({ rounds: 3, most: 1 });
});

test('repeat runs again after its interval', async () => {
  let rounds = 0;
  await using _ = repeat(
    async () => {
      rounds += 1;
    },
    1,
    fail,
  );
  await expect.poll(() => rounds).toBeGreaterThan(2);
});

test('repeat waits for the running round when it is disposed', async () => {
  let ended = false;
  const repeated = repeat(
    async (signal) => {
      await setTimeout(3_600_000, undefined, { signal }).catch(() => {});
      ended = true;
    },
    1,
    fail,
  );
  await repeated[Symbol.asyncDispose]();
  expect(ended).toBe(true);
});

test('repeat reports what a round throws and runs the next one, also after a duty cycle that is woken all the time', async () => {
  const failures: unknown[] = [];
  const started = performance.now();
  const work = limitDutyCycle(
    async () => {
      await setTimeout(1);
      repeated.wake();
      throw new Error(`round ${failures.length}`);
    },
    { share: 1e-9, maxPauseMs: 20 },
  );
  const repeated: Repeated = repeat(work, 3_600_000, (error) => failures.push(error));
  await expect.poll(() => failures.length).toBeGreaterThan(2);
  expect(failures.slice(0, 2).map(String)).toEqual(['Error: round 0', 'Error: round 1']);
  expect(performance.now() - started).toBeGreaterThan(55);
  await repeated[Symbol.asyncDispose]();
});

test('repeat reports no failure of a round that its disposal ended', async () => {
  const repeated = repeat((signal) => setTimeout(3_600_000, undefined, { signal }), 1, fail);
  await repeated[Symbol.asyncDispose]();
});
