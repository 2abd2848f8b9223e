import { createWakeSignal } from './wake-signal.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { keepHub } from './keep-hub.ts';
import { keepLooking } from './keep-looking.ts';
import { keepPolling } from './keep-polling.ts';
import { keepPublishing } from './keep-publishing.ts';

/**
 * Looks, polls, reports and publishes, each in its own loop, until the signal is aborted. No failure ends a loop, so that the daemon can
 * still report a full disk.
 */
export const runDaemon = async (daemon: Daemon): Promise<void> => {
  const { sleep, signal, log } = daemon;
  const rounds: Rounds = {
    look: createWakeSignal(sleep, signal),
    hub: createWakeSignal(sleep, signal),
    publish: createWakeSignal(sleep, signal),
    back: { registry: createWakeSignal(sleep, signal), hub: createWakeSignal(sleep, signal) },
    news: new AbortController(),
  };
  daemon.hear?.({
    changed: () => {
      rounds.look.wake();
      rounds.hub.wake();
      rounds.publish.wake();
    },
    asked: () => rounds.news.abort(),
  });
  await Promise.all([
    keepLooking(daemon, rounds),
    keepPolling(daemon, rounds),
    keepHub(daemon, rounds),
    keepPublishing(daemon, rounds),
  ]);
  log.info({}, 'stopped');
};
