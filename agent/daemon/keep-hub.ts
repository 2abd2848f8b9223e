import { toFleetError } from '#bundles/errors';
import { PRESENCE_MS } from '#bundles/hub/hub-api';
import type { Daemon, Rounds } from './daemon.ts';
import { patience, spread } from './patience.ts';

/**
 * Hands events over soon after they happened, and at every poll what is left; with growing patience where nobody answers. Who
 * has had nothing to say for a while says that it is there: to the hub an idle agent would look like a dead one.
 */
export const keepHub = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { hub, pollMs, random, signal } = daemon;
  if (!hub) return;
  const { contact } = hub;
  const silence = makeSilence(daemon);
  while (!signal.aborted) {
    try {
      if (await hub.visit({ present: silence.isLong() })) {
        if (contact.now().failing) rounds.back.registry.ring();
        contact.worked();
        silence.ends();
      }
      const rest = spread(Math.min(pollMs, PRESENCE_MS), random);
      contact.restsFor(rest);
      await rounds.hub.rest(rest);
    } catch (cause) {
      const error = toFleetError(cause);
      if (signal.aborted) return;
      const rest = patience(pollMs, contact.failed(error), random);
      contact.restsFor(rest);
      // Not by the bell of news: what happens here makes the hub answer no sooner.
      await rounds.back.hub.rest(rest);
    }
  }
};

/** How long the hub has heard nothing; long at the start. A wall clock that jumps costs a call more, or makes one late by as much again. */
const makeSilence = ({ now, random }: Daemon) => {
  let since = Number.NEGATIVE_INFINITY;
  let long = 0;
  return {
    isLong: () => Math.abs(now().getTime() - since) >= long,
    ends: () => {
      since = now().getTime();
      long = spread(PRESENCE_MS, random);
    },
  };
};
