import { describe, expect, it } from 'vitest';
import { makeAlarm, untilNextLook } from '../../../../scheduler/hub/watch/watch-platform.ts';

describe('the time between two looks', () => {
  it('doubles with each failure in a row up to a quarter of an hour, and differs by a fifth', () => {
    expect([0, 1, 2, 3, 10, 5000].map((failures) => untilNextLook(60_000, failures, () => 0.5))).toEqual([
      60_000, 120_000, 240_000, 480_000, 900_000, 900_000,
    ]);
    expect([0, 1].map((random) => untilNextLook(60_000, 0, () => random))).toEqual([48_000, 72_000]);
    expect([0, 1, 9].map((failures) => untilNextLook(3_600_000, failures, () => 0.5))).toEqual([
      3_600_000, 900_000, 900_000,
    ]);
  });
});

describe('the alarm', () => {
  const never = new AbortController().signal;

  it('ends a sleep, and the next one if it rings before that', async () => {
    const alarm = makeAlarm();
    const asleep = alarm.wait(60_000, never);
    alarm.ring();
    await asleep;
    alarm.reset();
    alarm.ring();
    alarm.ring();
    await alarm.wait(60_000, never);
  });

  it('forgets what rang before it was reset, and heeds the signal', async () => {
    const alarm = makeAlarm();
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
