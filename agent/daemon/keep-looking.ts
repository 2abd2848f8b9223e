import { toFleetError } from '#bundles/errors';
import type { Daemon, Rounds } from './daemon.ts';
import { makeLookLog } from './log-look.ts';
import { makeWatch } from './make-watch.ts';

/** Looks around again and again; what fails is logged when it begins and when it is over, and tried at the next interval. */
export const keepLooking = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { look, windows, now, log, signal } = daemon;
  const logLook = makeLookLog(log);
  const watch = makeWatch(daemon, rounds);
  let failing: string | undefined;
  while (!signal.aborted) {
    rounds.news = new AbortController();
    try {
      const found = await look({ mayBegin: windows.isOpen(now()), news: rounds.news.signal });
      logLook(found);
      watch(found.drift.some(({ drift }) => drift.length > 0));
      if (failing !== undefined) log.info({}, 'looking works again');
      failing = undefined;
    } catch (cause) {
      const { code, message, hint, retryable } = toFleetError(cause);
      if (code !== 'ABORTED' && code !== failing) {
        log.error({ code, hint, retryable, reason: message }, 'look failed');
        failing = code;
      }
    }
    rounds.hub.ring();
    await rounds.look.rest(untilNext(daemon));
  }
};

/** The usual interval, or the next window if that opens before. */
const untilNext = ({ intervalMs, windows, now }: Daemon): number => {
  const opens = windows.opensAfter(now());
  return opens ? Math.min(intervalMs, opens.getTime() - now().getTime()) : intervalMs;
};
