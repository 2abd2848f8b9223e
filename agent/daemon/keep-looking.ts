import { toFleetError } from '#bundles/errors';
import { pauseAfter } from '../store/applied/attempts.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { createLookLog } from './log-look.ts';
import { LOOK_MS, SLACK_MS } from './progress.ts';
import { createWatch } from './create-watch.ts';

/** Runs looks until the daemon stops. Logs the start and end of a series of failures and retries with growing pauses. */
export const keepLooking = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { look, windows, now, log, progress, signal } = daemon;
  const logLook = createLookLog(log);
  const watch = createWatch(daemon, rounds);
  let failing: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    rounds.news = new AbortController();
    progress?.within(LOOK_MS);
    try {
      const found = await look({ mayBegin: windows.isOpen(now()), news: rounds.news.signal });
      logLook(found);
      watch(found.drift.some(({ drift }) => drift.some(({ stays }) => !stays)));
      if (failing !== undefined) log.info({}, 'looking works again');
      failing = undefined;
      failures = 0;
    } catch (cause) {
      const { code, message, hint, retryable } = toFleetError(cause);
      if (code !== 'ABORTED') failures += 1;
      if (code !== 'ABORTED' && code !== failing) {
        log.error({ code, hint, retryable, reason: message }, 'look failed');
        failing = code;
      }
    }
    rounds.hub.wake();
    rounds.publish.wake();
    const rest = Math.min(msUntilNextLook(daemon), failures > 0 ? pauseAfter(failures) : Infinity);
    progress?.within(rest + SLACK_MS);
    await rounds.look.rest(rest);
  }
};

/** Milliseconds until the next look: the interval, or less if a window opens or a retry is due earlier. */
const msUntilNextLook = ({ intervalMs, windows, nextAttempt, now }: Daemon): number => {
  const at = now();
  const others = [windows.opensAfter(at), nextAttempt?.()].filter((date) => date !== undefined);
  return Math.min(intervalMs, ...others.map((date) => date.getTime() - at.getTime()));
};
