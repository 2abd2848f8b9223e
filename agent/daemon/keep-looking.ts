import { toFleetError } from '#bundles/errors';
import { pauseAfter } from '../store/attempts.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { makeLookLog } from './log-look.ts';
import { makeWatch } from './make-watch.ts';

/** Looks around again and again; what fails is logged when it begins and when it is over, and tried again soon, then ever more rarely. */
export const keepLooking = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { look, windows, now, log, signal } = daemon;
  const logLook = makeLookLog(log);
  const watch = makeWatch(daemon, rounds);
  let failing: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    rounds.news = new AbortController();
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
    rounds.hub.ring();
    await rounds.look.rest(Math.min(untilNext(daemon), failures > 0 ? pauseAfter(failures) : Infinity));
  }
};

/** The usual interval, or until the next window opens or something that failed is tried again, if that comes before. */
const untilNext = ({ intervalMs, windows, nextAttempt, now }: Daemon): number => {
  const at = now();
  const others = [windows.opensAfter(at), nextAttempt?.()].filter((date) => date !== undefined);
  return Math.min(intervalMs, ...others.map((date) => date.getTime() - at.getTime()));
};
