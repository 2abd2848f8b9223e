import { toFleetError } from '#bundles/errors';
import type { Daemon, Rounds } from './daemon.ts';

/** Between two publications: what changes by the second is not worth a request each. */
const MIN_PAUSE_MS = 2000;
/** Without a reason to publish: contacts and the outbox change on their own. */
const MAX_PAUSE_MS = 60_000;

/** Shows the state of the agent after each look and each minute. A failure, or what prevents a part, is logged once. */
export const keepPublishing = async (
  { publisher, log, sleep, signal }: Daemon,
  rounds: Rounds,
): Promise<void> => {
  if (!publisher) return;
  const logged = new Set<string>();
  while (!signal.aborted) {
    try {
      const said = await publisher.publish(signal);
      for (const reason of said) if (!logged.has(reason)) log.warn({ reason }, 'not all is shown');
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
