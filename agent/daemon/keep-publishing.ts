import { toFleetError } from '#bundles/errors';
import type { Daemon, Rounds } from './daemon.ts';

/** Shortest pause between two publications, so that changes of one moment are published together. */
const MIN_PAUSE_MS = 2000;
/** Longest pause: contacts and the outbox change without a look. */
const MAX_PAUSE_MS = 60_000;

/** Shows the state of the agent after each look and each minute. Each reason why all or a part of it failed is logged once. */
export const keepPublishing = async (
  { publisher, log, sleep, signal }: Daemon,
  rounds: Rounds,
): Promise<void> => {
  if (!publisher) return;
  const logged = new Set<string>();
  while (!signal.aborted) {
    try {
      const said = await publisher.publish(signal);
      for (const reason of said)
        if (!logged.has(reason)) log.warn({ reason }, 'a part of the state could not be shown');
      for (const old of logged.difference(new Set(said))) logged.delete(old);
      for (const reason of said) logged.add(reason);
    } catch (cause) {
      const { code, message } = toFleetError(cause);
      if (code !== 'ABORTED' && !logged.has(code))
        log.warn({ code, reason: message }, 'the state could not be shown');
      logged.add(code);
    }
    await sleep(MIN_PAUSE_MS, signal);
    await rounds.publish.rest(MAX_PAUSE_MS);
  }
};
