import { describe, expect, it } from 'vitest';
import { createWakeup, untilNextLook } from '../../../../scheduler/hub/watch/watch-platform.ts';

describe('the interval between two rounds', () => {
  it('doubles with each consecutive failure up to 15 minutes, and varies by 20 %', () => {
    expect([0, 1, 2, 3, 10, 5000].map((failures) => untilNextLook(60_000, failures, () => 0.5))).toEqual([
      60_000, 120_000, 240_000, 480_000, 900_000, 900_000,
    ]);
    expect([0, 1].map((random) => untilNextLook(60_000, 0, () => random))).toEqual([48_000, 72_000]);
    expect([0, 1, 9].map((failures) => untilNextLook(3_600_000, failures, () => 0.5))).toEqual([
      3_600_000, 900_000, 900_000,
    ]);
  });
});

describe('the wake-up signal', () => {
  const never = new AbortController().signal;

  it('ends a wait, or the next one if it comes earlier', async () => {
    const alarm = createWakeup();
    const asleep = alarm.wait(60_000, never);
    alarm.ring();
    await asleep;
    alarm.reset();
    alarm.ring();
    alarm.ring();
    await alarm.wait(60_000, never);
  });

  it('is cleared by reset, and the wait ends when its signal aborts', async () => {
    const alarm = createWakeup();
    alarm.ring();
    alarm.reset();
    const stop = new AbortController();
    const asleep = alarm.wait(60_000, stop.signal);
    const soon = new Promise((resolve) => setTimeout(resolve, 5, 'still asleep'));
    expect(await Promise.race([asleep, soon])).toBe('still asleep');
    stop.abort();
    await asleep;
  });
});
