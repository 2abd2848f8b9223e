import { compareBytes } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { Poll } from '../acquire/poll-registry.ts';
import type { Exclusively } from '../acquire/pull-release.ts';
import type { Contact } from './contact.ts';
import type { Daemon, Rounds } from './daemon.ts';
import { patience, spread } from './patience.ts';

/** An offer that was refused, how often, and for how many polls it is left alone now. */
type Refused = { readonly offer: string; readonly times: number; readonly polls: number };

const MAX_POLLS = 15;

const NOT_YET: ReadonlySet<string> = new Set(['SITE_MISSING', 'CHANNEL_MISSING']);

/**
 * Asks the registry again and again. The same answers as ever are the end of a poll, others are looked into; what was
 * refused is looked into again ever more rarely, and something else at once.
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
      if (wasAway) rounds.back.hub.ring();
      refused = await takeUp(daemon, rounds, seen, refused);
    } catch (cause) {
      const error = toFleetError(cause);
      if (signal.aborted) return;
      const failures = contact.failed(error);
      // A registry that answers and has nothing yet is not in trouble: somebody is about to publish.
      if (!NOT_YET.has(error.code)) rest = patience(pollMs, failures, random);
    }
    rest ??= spread(pollMs, random);
    contact.restsFor(rest);
    await (isAway(contact.now()) ? rounds.back.registry.rest(rest) : sleep(rest, signal));
  }
};

/** What it refuses or does not have is no outage. */
const isAway = ({ failing }: Contact): boolean => failing?.code === 'REGISTRY_UNREACHABLE';

/** @returns the refusal to remember @throws FleetError what may be over at the next try */
const takeUp = async (
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
    log.info(pulled, 'release accepted');
    rounds.look.ring();
    return undefined;
  } catch (cause) {
    const error = toFleetError(cause);
    // A person is at work here: it is not the registry that failed.
    if (error.code === 'BUSY') return before;
    if (error.retryable) throw error;
    registry.contact.failed(error);
    rounds.hub.ring();
    const times = (before?.times ?? 0) + 1;
    return { offer, times, polls: Math.min(MAX_POLLS, 2 ** Math.min(10, times) - 1) };
  }
};

/** What was judged good may end the look in hand, after its package; what was not may disturb nobody. */
const interrupting =
  ({ exclusively }: Daemon, rounds: Rounds): Exclusively =>
  (work) => {
    rounds.news.abort();
    return exclusively(work);
  };
