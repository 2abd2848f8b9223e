import { compareBytes } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { pauseMs, spread } from '#bundles/retry';
import type { Poll } from '../acquire/poll-registry.ts';
import type { RunExclusively, Pulled } from '../acquire/pull-release.ts';
import type { Contact } from '../store/contact.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { pollPolicy } from './poll-policy.ts';

/** A refused offer, the number of refusals, and the number of polls for which it is skipped. */
type Refused = { readonly offer: string; readonly times: number; readonly polls: number };

const MAX_POLLS = 15;

const RETRIED_CODES: ReadonlySet<string> = new Set(['SITE_MISSING', 'CHANNEL_MISSING']);

/**
 * Polls the registry until the daemon stops. Pulls when a tag has changed. A refused offer is pulled again with growing
 * pauses, and a different offer at once.
 */
export const keepPolling = async (daemon: Daemon, rounds: Rounds): Promise<void> => {
  const { registry, pollMs, random, sleep, signal } = daemon;
  if (!registry) return;
  const { contact } = registry;
  let refused: Refused | undefined;
  while (!signal.aborted) {
    let rest: number | undefined;
    const wasAway = isAway(contact.now());
    try {
      const seen = await registry.poll();
      if (wasAway) rounds.back.hub.wake();
      refused = await pullNewRelease(daemon, rounds, seen, refused);
    } catch (cause) {
      const error = toFleetError(cause);
      if (signal.aborted) return;
      const failures = contact.failed(error);
      // The registry answers and has nothing yet, which is no outage: the usual interval applies.
      if (!RETRIED_CODES.has(error.code)) rest = pauseMs(pollPolicy(pollMs), failures, random);
    }
    rest ??= spread(pollMs, 'around', random);
    contact.restsFor(rest);
    await (isAway(contact.now()) ? rounds.back.registry.rest(rest) : sleep(rest, signal));
  }
};

/** True during an outage. A refusal or a missing artifact is not one. */
const isAway = ({ failing }: Contact): boolean => failing?.code === 'REGISTRY_UNREACHABLE';

/** Pulls the news of a poll. @returns the refusal to remember @throws FleetError if it is retryable */
const pullNewRelease = async (
  daemon: Daemon,
  rounds: Rounds,
  seen: Poll,
  refused: Refused | undefined,
): Promise<Refused | undefined> => {
  const { registry, log } = daemon;
  if (!registry) return undefined;
  const offer = JSON.stringify([...seen.pointers].toSorted(([a], [b]) => compareBytes(a, b)));
  const before = refused?.offer === offer ? refused : undefined;
  if (!seen.news) {
    registry.contact.worked();
    return undefined;
  }
  if (before && before.polls > 0) return { ...before, polls: before.polls - 1 };
  try {
    const pulled = await registry.pull(seen, interrupting(daemon, rounds));
    registry.contact.worked();
    log.info(pulled, describeNew(pulled));
    rounds.look.wake();
    return undefined;
  } catch (cause) {
    const error = toFleetError(cause);
    // Another process has the lock; the registry did not fail.
    if (error.code === 'BUSY') return before;
    if (error.retryable) throw error;
    registry.contact.failed(error);
    rounds.hub.wake();
    const times = (before?.times ?? 0) + 1;
    return { offer, times, polls: Math.min(MAX_POLLS, 2 ** Math.min(10, times) - 1) };
  }
};

/** Says "release accepted" of a release that was not here before, and of nothing else. */
const describeNew = ({ release, news, selected }: Pulled): string => {
  if (release === undefined || news !== 'newer') return 'site statement accepted';
  return selected ? 'release accepted' : 'release accepted; its rollout does not select this agent yet';
};

/** Ends the current look after its package, but only once an offer was judged good; a refused offer interrupts nothing. */
const interrupting =
  ({ exclusively }: Daemon, rounds: Rounds): RunExclusively =>
  (work) => {
    rounds.news.abort();
    return exclusively(work);
  };
