import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { Broken } from '../story.ts';

export type Wait = {
  /** The sentence that is said when it holds. */
  readonly what: string;
  readonly holds: () => Promise<boolean>;
  readonly seconds?: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
};

/** Looks again and again until it holds, and says how long that took. @throws Broken when it takes too long */
export const timed = async ({ what, holds, seconds = 120, signal, say }: Wait): Promise<void> => {
  const began = performance.now();
  const took = (): number => (performance.now() - began) / 1000;
  while (!(await holds())) {
    if (took() > seconds) throw new Broken(`${what}: not after ${seconds} s.`);
    await sleep(500, undefined, { signal });
  }
  say(styleText('green', `${what} (${took().toFixed(1)} s).`));
};
