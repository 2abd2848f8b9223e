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

/** Most conditions start a program, so pauses get longer. */
const PAUSES_MS = { first: 500, longest: 2000 } as const;

/** Polls until the condition holds, and prints how long it took. @throws Broken at its time limit */
export const timed = async ({ what, holds, seconds = 120, signal, say }: Wait): Promise<void> => {
  const began = performance.now();
  const took = (): number => (performance.now() - began) / 1000;
  for (
    let pause: number = PAUSES_MS.first;
    !(await holds());
    pause = Math.min(2 * pause, PAUSES_MS.longest)
  ) {
    if (took() > seconds) throw new Broken(`${what}: not after ${seconds} s.`);
    await sleep(pause, undefined, { signal });
  }
  say(styleText('green', `${what} (${took().toFixed(1)} s).`));
};
