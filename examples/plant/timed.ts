import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { Broken } from '../story.ts';

export type Wait = {
  /** Printed when the condition holds. */
  readonly what: string;
  readonly holds: () => Promise<boolean>;
  readonly seconds?: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
};

/** What is asked is mostly a program that starts. */
const POLL_MS = 2000;

/** Polls until the condition holds, and prints how long it took. @throws Broken at its time limit */
export const timed = async ({ what, holds, seconds = 120, signal, say }: Wait): Promise<void> => {
  const began = performance.now();
  const took = (): number => (performance.now() - began) / 1000;
  while (!(await holds())) {
    if (took() > seconds) throw new Broken(`${what}: not after ${seconds} s.`);
    await sleep(POLL_MS, undefined, { signal });
  }
  say(styleText('green', `${what} (${took().toFixed(1)} s).`));
};
