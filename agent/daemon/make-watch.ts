import { toFleetError } from '#bundles/errors';
import type { Daemon, Rounds } from './daemon.ts';

/** From a change to the look that it calls for: what comes meanwhile is seen by the same look. */
const GATHER_MS = 2000;

/**
 * To be called after each look: follows what packages own then, and rings for a look when somebody changes it. A watch that
 * ends before it should is begun anew after the next look, and the usual interval finds whatever it missed.
 * @returns takes whether the look found drift: one that fights with another controller is called for ever more rarely
 */
export const makeWatch = (
  { watch, signal, log, sleep, intervalMs }: Daemon,
  rounds: Rounds,
): ((drifted: boolean) => void) => {
  let followed: { readonly owned: string; readonly stop: AbortController } | undefined;
  let pause = GATHER_MS;
  let gathering = false;
  const ring = async (): Promise<void> => {
    if (gathering) return;
    gathering = true;
    await sleep(pause, signal);
    gathering = false;
    rounds.look.ring();
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
      .follow(() => void ring(), own.signal)
      .then(ended, (cause: unknown) => {
        ended();
        const { code, message } = toFleetError(cause);
        if (!own.signal.aborted) log.warn({ code, reason: message }, 'watching ended');
      });
  };
};
