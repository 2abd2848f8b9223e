import { toFleetError } from '#bundles/errors';
import { patience, spread } from './patience.ts';
import type { Daemon, Rounds } from './run-daemon.ts';

/** Hands events over soon after they happened, and at every poll what is left; with growing patience where nobody answers. */
export const keepHub = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { hub, pollMs, random, sleep, signal } = daemon;
  if (!hub) return;
  const { contact } = hub;
  while (!signal.aborted) {
    try {
      if (await hub.visit()) contact.worked();
      const rest = spread(pollMs, random);
      contact.restsFor(rest);
      await rounds.hub.rest(rest);
    } catch (cause) {
      const error = toFleetError(cause);
      if (signal.aborted) return;
      const rest = patience(pollMs, contact.failed(error), random);
      contact.restsFor(rest);
      // Not by the bell: what happens here makes the hub answer no sooner.
      await sleep(rest, signal);
    }
  }
};
