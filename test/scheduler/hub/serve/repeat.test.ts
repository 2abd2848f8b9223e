import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { repeat } from '../../../../scheduler/hub/serve/repeat.ts';

test('repeat runs at once and again when poked, and never concurrently', async () => {
  let [rounds, inside, most] = [0, 0, 0];
  const more: PromiseWithResolvers<void>[] = [];
  const repeated = repeat(async () => {
    rounds += 1;
    inside += 1;
    most = Math.max(most, inside);
    const gate = Promise.withResolvers<void>();
    more.push(gate);
    await gate.promise;
    inside -= 1;
  }, 3_600_000);
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
  await using _ = repeat(async () => {
    rounds += 1;
  }, 1);
  await expect.poll(() => rounds).toBeGreaterThan(2);
});

test('repeat waits for the running round when it is disposed', async () => {
  let ended = false;
  const repeated = repeat(async (signal) => {
    await setTimeout(3_600_000, undefined, { signal }).catch(() => {});
    ended = true;
  }, 1);
  await repeated[Symbol.asyncDispose]();
  expect(ended).toBe(true);
});
