import { defined } from '#bundles/defined';
import type { Accepted } from '#bundles/trust/accept/accept-channel';
import { canonicalJson } from '#bundles/json/canonical';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { Registry } from '#bundles/transport/registry/registry';
import type { Agent } from '../store/agent.ts';
import { recordRefused } from '../store/outbox/record-refused.ts';
import type { ReleaseRef } from '../store/applied/package-ref.ts';
import { isOldRefusal, rememberRefusal } from '../store/applied/pointers.ts';
import { readPull } from '../store/pull.ts';
import { tryPullLock } from '../store/pull-lock.ts';
import { fingerprint } from './offers/fingerprint.ts';
import { judgeOffer } from './offers/judge-offer.ts';
import type { Poll } from './poll-registry.ts';
import { readRegistryOffer } from './offers/read-registry-offer.ts';
import { storeAccepted } from './offers/store-accepted.ts';

export type Pulled = {
  /** The release of the channel; undefined if there is none. */
  readonly release: ReleaseRef | undefined;
  readonly news: 'newer' | 'same' | undefined;
  /** false: the rollout does not select this agent yet. */
  readonly selected: boolean;
  readonly siteVersion: number;
  /** Number of invalid leases that were skipped; absent if there are none. */
  readonly skippedLeases?: number;
};

/** Runs work under the lock of the state directory, after waiting for it. */
export type RunExclusively = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Pulls a release from a registry, with the same checks, blobs and transaction as an import (importMedium); `reconcile` applies
 * it afterwards. The state directory is locked only for the transaction, so that a slow network does not block the import of
 * a medium. A refusal changes nothing and is reported once for the same offer.
 * @param seen the poll that triggered the pull
 * @throws FleetError with the code of the attack table; REGISTRY_*, DISK_FULL or BUSY if the offer could not be judged
 */
export const pullRelease = async (
  agent: Agent,
  registry: Registry,
  seen: Poll,
  exclusively: RunExclusively,
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
      ...defined({ skippedLeases: skippedLeases > 0 ? skippedLeases : undefined }),
    };
  } catch (cause) {
    const error = toFleetError(cause);
    if (isRefusal(error) && !agent.signal.aborted) recordRefusedOnce(agent, seen, error);
    throw error;
  }
};

const pull = async (agent: Agent, registry: Registry, exclusively: RunExclusively): Promise<Accepted> => {
  const { state } = agent;
  const before = fingerprint(state);
  const judged = await judgeOffer(agent, await readRegistryOffer(agent, registry));
  const pinned = JSON.stringify(readPull(state));
  return exclusively(async () => {
    // If a medium was imported in between, the floors may have moved: the offer is judged again.
    const stands = fingerprint(state) === before && JSON.stringify(readPull(state)) === pinned;
    const accepted = stands ? judged : await judgeOffer(agent, judged.offer);
    storeAccepted(agent, accepted);
    return accepted.accepted;
  });
};

/** True for errors to report: a refused offer, and a full disk, which needs an operator. Outages end without help. */
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

/** Reports a refusal once per code, subject and offer. The message is not compared: it may contain free bytes and times. */
const recordRefusedOnce = (agent: Agent, seen: Poll, error: FleetError): void => {
  const pointers = [...seen.pointers].toSorted(([a], [b]) => compareBytes(a, b));
  const what = canonicalJson([error.code, error.subject ?? '', pointers]);
  try {
    if (isOldRefusal(agent.state, what)) return;
    recordRefused(agent, error, () => rememberRefusal(agent.state, what));
  } catch {
    // The disk may be too full for the event; the caller throws the original error.
  }
};
