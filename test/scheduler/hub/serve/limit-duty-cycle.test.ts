import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { limitDutyCycle } from '../../../../scheduler/hub/serve/limit-duty-cycle.ts';

test('a round is followed by a pause in proportion to it, which a stop ends', async () => {
  const stop = new AbortController();
  let rounds = 0;
  const limited = limitDutyCycle(
    async () => {
      rounds += 1;
      await setTimeout(5);
    },
    { share: 1e-6, maxPauseMs: 3_600_000 },
  );
  const over = limited(stop.signal);
  expect(await Promise.race([over.then(() => 'over'), setTimeout(20, 'pausing')])).toBe('pausing');
  expect(rounds).toBe(1);
  stop.abort();
  await over;
});

test('a round that takes long on a busy machine is followed by a pause of limited length', async () => {
  const round = () => setTimeout(5);
  // By its share alone it would be an hour.
  await limitDutyCycle(round, { share: 1e-6, maxPauseMs: 1 })(new AbortController().signal);
});
