import type { Accepted } from '#bundles/accept/accept-channel';
import { canonicalJson } from '#bundles/canonical';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { Registry } from '#bundles/registry/registry';
import type { Agent } from '../agent.ts';
import { tellRefused } from '../report/tell-refused.ts';
import type { ReleaseRef } from '../store/package-ref.ts';
import { isOldRefusal, rememberRefusal } from '../store/pointers.ts';
import { readPull } from '../store/pull.ts';
import { tryPullLock } from '../store/pull-lock.ts';
import { fingerprint } from './fingerprint.ts';
import { judgeOffer } from './judge-offer.ts';
import type { Poll } from './poll-registry.ts';
import { readRegistryOffer } from './read-registry-offer.ts';
import { storeAccepted } from './store-accepted.ts';

export type Pulled = {
  /** What the channel's release is; undefined while there is none. */
  readonly release: ReleaseRef | undefined;
  readonly news: 'newer' | 'same' | undefined;
  /** false: the rollout leaves this agent where it is. */
  readonly selected: boolean;
  readonly siteVersion: number;
  /** Leases there that were no good and left aside: said where there are any. */
  readonly skippedLeases?: number;
};

/** Waits for its turn at the state directory, then works alone in it. */
export type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * A registry's way into the machine: the same judgement, blobs and transaction as a medium's (importMedium); what was
 * accepted is then for reconcile to apply. The state directory is locked for the transaction alone: a slow network must not
 * keep away the person who came with a stick because of it. A refusal changes nothing and is told once, however often the
 * same is offered again.
 * @param seen the poll that called for this: what the tags named then
 * @throws FleetError with the code of the attack table; REGISTRY_*, DISK_FULL, BUSY ... when it could not be judged
 */
export const pullRelease = async (
  agent: Agent,
  registry: Registry,
  seen: Poll,
  exclusively: Exclusively,
): Promise<Pulled> => {
  try {
    using lock = tryPullLock(agent.state.directory);
    if (!lock) throw new FleetError('BUSY', 'another process is bringing in a release');
    const { release, site, selected, skippedLeases } = await pull(agent, registry, exclusively);
    return {
      release: release && { ...site.agent.channel, version: release.predicate.version },
      news: release?.news,
      selected,
      siteVersion: site.predicate.version,
      ...(skippedLeases > 0 ? { skippedLeases } : {}),
    };
  } catch (cause) {
    const error = toFleetError(cause);
    if (isRefusal(error) && !agent.signal.aborted) tellOnce(agent, seen, error);
    throw error;
  }
};

const pull = async (agent: Agent, registry: Registry, exclusively: Exclusively): Promise<Accepted> => {
  const { state } = agent;
  const before = fingerprint(state);
  const judged = await judgeOffer(agent, await readRegistryOffer(agent, registry));
  const pinned = JSON.stringify(readPull(state));
  return exclusively(async () => {
    // A stick came in between: what was judged against yesterday's floors is judged again.
    const stands = fingerprint(state) === before && JSON.stringify(readPull(state)) === pinned;
    const accepted = stands ? judged : await judgeOffer(agent, judged.offer);
    storeAccepted(agent, accepted);
    return accepted.accepted;
  });
};

/** A judgement, and a full disk, which only a person ends: not a network that comes back by itself. */
const isRefusal = (error: FleetError): boolean => {
  if (error.code === 'DISK_FULL') return true;
  return !error.retryable && !OUT_OF_REACH.has(error.code);
};

const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'INTERNAL',
  'REGISTRY_DENIED',
  'REGISTRY_REFUSED',
  'SITE_MISSING',
  'PERMISSION',
  'STORE_CORRUPT',
]);

/** The same code for the same thing in the same offer is the same refusal: free bytes and times in its words do not count. */
const tellOnce = (agent: Agent, seen: Poll, error: FleetError): void => {
  const pointers = [...seen.pointers].toSorted(([a], [b]) => compareBytes(a, b));
  const what = canonicalJson([error.code, error.subject ?? '', pointers]);
  try {
    if (isOldRefusal(agent.state, what)) return;
    tellRefused(agent, error, () => rememberRefusal(agent.state, what));
  } catch {
    // A disk too full for one event is the reason that is being told of.
  }
};
