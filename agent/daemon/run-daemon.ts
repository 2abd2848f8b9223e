import { makeBell } from './bell.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { keepHub } from './keep-hub.ts';
import { keepLooking } from './keep-looking.ts';
import { keepPolling } from './keep-polling.ts';

/**
 * Looks, polls and reports, each at its own pace, until the signal. No failure of any ends it: a daemon that dies of a full
 * disk helps nobody to see it.
 */
export const runDaemon = async (daemon: Daemon): Promise<void> => {
  const { sleep, signal, log } = daemon;
  const rounds: Rounds = {
    look: makeBell(sleep, signal),
    hub: makeBell(sleep, signal),
    back: { registry: makeBell(sleep, signal), hub: makeBell(sleep, signal) },
    news: new AbortController(),
  };
  daemon.hear?.({
    changed: () => {
      rounds.look.ring();
      rounds.hub.ring();
    },
    asked: () => rounds.news.abort(),
  });
  await Promise.all([keepLooking(daemon, rounds), keepPolling(daemon, rounds), keepHub(daemon, rounds)]);
  log.info({}, 'stopped');
};
