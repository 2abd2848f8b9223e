import { toFleetError } from '#bundles/errors';
import { PRESENCE_MS } from '#bundles/formats/events/hub-api';
import { pauseMs, spread } from '#bundles/retry';
import type { Daemon, Rounds } from './daemon.ts';
import { pollPolicy } from './poll-policy.ts';

/**
 * Uploads events soon after they happened, and the rest at every poll; after growing pauses while the hub does not answer. An
 * idle agent signals its presence, so that the hub can tell it from a dead one.
 */
export const keepHub = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { hub, pollMs, random, signal } = daemon;
  if (!hub) return;
  const { contact } = hub;
  const silence = createSilence(daemon);
  while (!signal.aborted) {
    try {
      if (await hub.visit({ present: silence.isLong() })) {
        if (contact.now().failing) rounds.back.registry.wake();
        contact.worked();
        silence.ends();
      }
      const rest = spread(Math.min(pollMs, PRESENCE_MS), 'around', random);
      contact.restsFor(rest);
      await rounds.hub.rest(rest);
    } catch (cause) {
      const error = toFleetError(cause);
      if (signal.aborted) return;
      const rest = pauseMs(pollPolicy(pollMs), contact.failed(error), random);
      contact.restsFor(rest);
      // New events do not end this pause, because they do not make the hub reachable.
      await rounds.back.hub.rest(rest);
    }
  }
};

/**
 * Tells when the hub has received nothing for long, which is true at the start. A jump of the wall clock causes at most one
 * extra call, or delays one by as much again.
 */
const createSilence = ({ now, random }: Daemon) => {
  let since = Number.NEGATIVE_INFINITY;
  let long = 0;
  return {
    isLong: () => Math.abs(now().getTime() - since) >= long,
    ends: () => {
      since = now().getTime();
      long = spread(PRESENCE_MS, 'around', random);
    },
  };
};
