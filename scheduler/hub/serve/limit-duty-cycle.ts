import { setTimeout } from 'node:timers/promises';

/** Lets `round` take at most this part of the time: at thousands of sites a report comes with every second. */
export const limitDutyCycle =
  (round: (signal: AbortSignal) => Promise<void>, share: number) =>
  async (signal: AbortSignal): Promise<void> => {
    const started = performance.now();
    await round(signal);
    const pauseMs = (performance.now() - started) / share;
    await setTimeout(pauseMs, undefined, { signal }).catch(() => {});
  };
