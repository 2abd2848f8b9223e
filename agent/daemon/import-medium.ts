import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { formatChannel } from '#bundles/names';
import type { Agent } from '../store/agent.ts';
import { type Look, lookAround } from '../observe/look-around.ts';
import { openOperation } from '../store/journal/operations.ts';
import { tellRefused } from '../store/outbox/tell-refused.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import type { ReleaseRef } from '../store/applied/package-ref.ts';
import { readTrustRow } from '../store/trust.ts';
import { isBeingReplaced } from '../store/upgrade-trial.ts';
import type { Judged } from '../acquire/offers/accept-offer.ts';
import type { BroughtImages } from '../acquire/blobs/bring-surveyed.ts';
import { judgeOffer } from '../acquire/offers/judge-offer.ts';
import { removeNeeds } from '../acquire/blobs/missing-base.ts';
import { readOffer } from '../acquire/offers/read-offer.ts';
import { storeAccepted } from '../acquire/offers/store-accepted.ts';
import { openAge } from '#bundles/trust/age/open-age';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { findAgeIdentity } from '../hub/age-identity.ts';

/** With the look that followed: packages that changed or failed, and what was compared with live state. */
export type ImportResult = {
  /** The medium's release for this agent; undefined if it has only a site statement. */
  readonly release: ReleaseRef | undefined;
  /** 'same': it was imported before. */
  readonly news: 'newer' | 'same' | undefined;
  /** Set if neither agent nor medium has a release of this agent's channel; `offered` lists the channels on the medium. */
  readonly missing?: { readonly channel: string; readonly offered: readonly string[] };
  /** false: the rollout does not select this agent yet. */
  readonly selected: boolean;
  readonly rootVersion: number;
  readonly siteVersion: number;
  /** Version of the lease that the medium brought for the release in force; undefined without one. */
  readonly leaseVersion: number | undefined;
  /** Expired statements that were accepted by break-glass. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
  /** Events that receipts on the medium acknowledged. */
  readonly acknowledged: number;
  /** Receipts on the medium that contradict the events of this outbox; they released nothing. */
  readonly contradictingReceipts: number;
  /** Container images of the release. */
  readonly images: BroughtImages;
} & Look;

/** Options of an import that the operator sets. */
export type ImportWish = {
  /** Allows this release to remove more than the prune budget. */
  readonly prune?: boolean;
  /** Accepts expired statements, for this reason (break-glass). */
  readonly acceptExpired?: string | undefined;
};

/**
 * Imports a medium; several paths are volumes of one set. Until everything is verified and copied, only the blob store
 * changes. Then one transaction accepts the offer and moves all floors, packages are applied one by one, and all are compared with live state.
 * @throws FleetError USAGE if break-glass is not permitted, otherwise with the code of the attack table; refusals are recorded
 *   in the outbox
 */
export const importMedium = async (
  agent: Agent,
  paths: string | readonly string[],
  { prune = false, acceptExpired }: ImportWish = {},
): Promise<ImportResult> => {
  checkGlass(agent, acceptExpired);
  const unseal = unsealer(agent);
  await using medium = await orTellRefused(agent, () => openMedium(paths, { unseal }));
  const how = { acceptExpired: acceptExpired !== undefined };
  const accepted = await orTellRefused(agent, async () =>
    judgeOffer(agent, await readOffer(agent, medium), how),
  );
  const acknowledged = storeAccepted(agent, accepted, { prune, reason: acceptExpired });
  await removeNeeds(agent, medium);
  // Image blobs that waited for other volumes are with the providers now, and applying may need their space.
  if (medium.parts) await collectGarbage(agent.state);
  // After acceptance: the open operation may be waiting for the health of a package that this release replaces.
  const look = await applyAccepted(agent);
  const { release, root, site, lease, relaxed, selected } = accepted.accepted;
  return {
    release: release && { ...site.agent.channel, version: release.predicate.version },
    news: release?.news,
    ...(!release &&
      readTrustRow(agent.state).desiredRelease === undefined && { missing: missingFrom(accepted) }),
    selected,
    rootVersion: root.version,
    siteVersion: site.predicate.version,
    leaseVersion: lease?.news === 'kept' ? undefined : lease?.predicate.version,
    relaxed,
    acknowledged: acknowledged.events,
    contradictingReceipts: acknowledged.contradicting,
    images: accepted.images,
    ...look,
  };
};

/**
 * Applies what was accepted and compares all packages with live state, also where the medium had nothing new. Where that upgrades
 * the agent itself, the version on trial does the rest. @throws FleetError ABORTED
 */
const applyAccepted = async (agent: Agent): Promise<Look> => {
  try {
    return await lookAround(agent, { leavesFailed: true });
  } catch (error) {
    const open = isFleetError(error, 'ABORTED') && !agent.signal.aborted && openOperation(agent.state);
    if (!open || !isBeingReplaced(agent.state.directory)) throw error;
    const { assignment } = open;
    const upgrading = {
      assignment,
      outcome: 'skipped',
      code: 'AGENT_UPGRADING',
      message: error.message,
    } as const;
    return { packages: [upgrading], drift: [] };
  }
};

const missingFrom = ({ accepted: { site }, offer: { documents } }: Judged): ImportResult['missing'] => ({
  channel: formatChannel(site.agent.channel),
  offered: [...new Set(documents.claimedChannels.map(formatChannel))],
});

/** @throws FleetError USAGE */
const checkGlass = ({ policy }: Agent, reason: string | undefined): void => {
  if (reason === undefined) return;
  if (!policy.breakGlass) {
    throw new FleetError('USAGE', 'this machine is not configured to accept expired statements', {
      subject: '--accept-expired',
      hint: 'Ask for a newer release or a lease; the owner of the machine may set breakGlass: true in its agent.yaml',
    });
  }
  if (reason.trim() === '') {
    throw new FleetError('USAGE', 'the reason is empty', {
      subject: '--reason',
      hint: 'Say in a few words why this cannot wait; the platform team reads them in the report',
    });
  }
};

/** Records a refusal for the report: the medium may be the wrong one, or a bad one. */
const orTellRefused = async <T>(agent: Agent, judge: () => Promise<T>): Promise<T> => {
  try {
    return await judge();
  } catch (cause) {
    const error = advised(toFleetError(cause));
    if (isFleetError(error, 'ABORTED') || agent.signal.aborted) throw error;
    // Probably a mistyped path: there was no medium to refuse.
    if (isFleetError(error, 'MEDIUM_MISSING')) throw error;
    // Not a refusal: other volumes of the set are still to come.
    if (isFleetError(error, 'PARTS_MISSING')) throw error;
    try {
      tellRefused(agent, error);
    } catch {
      // The disk may be too full for the event; the original error is thrown either way.
    }
    throw error;
  }
};

/** Adds a hint to MISSING_BLOB: an incomplete medium has to be copied again. */
const advised = (error: FleetError): FleetError => {
  const { code, message, subject, hint } = error;
  if (code !== 'MISSING_BLOB' || hint !== undefined) return error;
  return new FleetError(code, message, {
    ...(subject === undefined ? {} : { subject }),
    hint: 'The copy is not complete; copy it again',
    cause: error,
  });
};

/**
 * Returns a function that opens sealed parts with this agent's age identity, read at the first call. The returned function
 * rejects with NOT_A_RECIPIENT if this agent has no age identity.
 */
const unsealer = ({ state }: Pick<Agent, 'state'>): ((bytes: RandomAccess) => Promise<RandomAccess>) => {
  let known: Promise<string | undefined> | undefined;
  return async (bytes) => {
    known ??= findAgeIdentity(state.directory);
    const identity = await known;
    if (identity !== undefined) return openAge(bytes, [identity]);
    throw new FleetError('NOT_A_RECIPIENT', 'it is sealed, and this agent has no age identity', {
      hint: 'Run fleet-agent enroll, carry its request to the platform team, and ask for a new medium',
    });
  };
};
