import { toFleetError } from '#bundles/errors';
import type { Daemon, Rounds } from './daemon.ts';

/** Milliseconds between a change and the look that it triggers; the same look covers changes in between. */
const GATHER_MS = 2000;

/**
 * Returns a function to call after each look. It watches what packages own and wakes the look when an object changes. A watch
 * that ends early is restarted after the next look; the usual interval finds what it missed. The function takes whether the
 * look found drift, and then doubles the delay, so that a conflict with another controller causes fewer and fewer looks.
 */
export const createWatch = (
  { watch, signal, log, sleep, intervalMs }: Daemon,
  rounds: Rounds,
): ((drifted: boolean) => void) => {
  let followed: { readonly owned: string; readonly stop: AbortController } | undefined;
  let pause = GATHER_MS;
  let gathering = false;
  const wake = async (): Promise<void> => {
    if (gathering) return;
    gathering = true;
    await sleep(pause, signal);
    gathering = false;
    rounds.look.wake();
  };
  const stop = (): void => {
    followed?.stop.abort();
    followed = undefined;
  };
  signal.addEventListener('abort', stop, { once: true });
  return (drifted) => {
    pause = drifted ? Math.min(intervalMs, pause * 2) : GATHER_MS;
    if (!watch || signal.aborted) return;
    const owned = watch.owned();
    if (followed?.owned === owned) return;
    stop();
    const own = new AbortController();
    followed = { owned, stop: own };
    const ended = (): void => {
      if (followed?.stop === own) followed = undefined;
    };
    watch
      .follow(() => void wake(), own.signal)
      .then(ended, (cause: unknown) => {
        ended();
        const { code, message } = toFleetError(cause);
        if (!own.signal.aborted) log.warn({ code, reason: message }, 'watching ended');
      });
  };
};
