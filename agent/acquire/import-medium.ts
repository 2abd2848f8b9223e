import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/medium/open-medium';
import { formatChannel } from '#bundles/names';
import type { Agent } from '../agent.ts';
import { type PackageResult, withResumed } from '../apply/package-result.ts';
import { resume } from '../apply/perform.ts';
import { reconcile } from '../apply/reconcile.ts';
import { letGoImages } from '../images/let-go-images.ts';
import { forgetOldOperations } from '../journal/operations.ts';
import { tellRefused } from '../report/tell-refused.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import type { ReleaseRef } from '../store/package-ref.ts';
import { readTrustRow } from '../store/trust.ts';
import type { Judged } from './accept-offer.ts';
import type { BroughtImages } from './bring-surveyed.ts';
import { judgeOffer } from './judge-offer.ts';
import { removeNeeds } from './missing-base.ts';
import { readOffer } from './read-offer.ts';
import { storeAccepted } from './store-accepted.ts';
import { unsealer } from './unsealer.ts';

export type ImportResult = {
  /** What the medium's release for this agent is; undefined when it only brings an order for the site. */
  readonly release: ReleaseRef | undefined;
  /** 'same': it was imported before. */
  readonly news: 'newer' | 'same' | undefined;
  /** There is no release of this agent's channel, here or on the medium: the channel, and those that the medium has releases of. */
  readonly missing?: { readonly channel: string; readonly offered: readonly string[] };
  /** false: the rollout leaves this agent where it is. */
  readonly selected: boolean;
  readonly rootVersion: number;
  readonly siteVersion: number;
  /** Of the lease that the medium brought for the release in force; undefined: none. */
  readonly leaseVersion: number | undefined;
  /** What had ended and was taken nevertheless. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
  /** Events that receipts on the medium acknowledged. */
  readonly acknowledged: number;
  /** Receipts on the medium that contradict what was told here; nothing was let go for them. */
  readonly contradictingReceipts: number;
  /** Container images of the release. */
  readonly images: BroughtImages;
  /** What was done; packages that already ran as wanted are not in it. */
  readonly packages: readonly PackageResult[];
};

/** What a person says with a medium. */
export type ImportWish = {
  /** This release may remove more than the budget. */
  readonly prune?: boolean;
  /** The reason why what has ended is to be taken nevertheless. */
  readonly acceptExpired?: string | undefined;
};

/**
 * A medium's way into the machine; several paths are sticks of one set. Until everything on it is verified and here, nothing changes but the blob store; then
 * all floors move at once; then packages are applied one by one.
 * @throws FleetError USAGE where no glass may be broken, and with the code of the attack table; the refusal stands in the outbox
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
  // What waited here for other sticks is with those who keep images by now, and its room may be needed next.
  if (medium.parts) await collectGarbage(agent.state);
  // Only now: what is under way may wait for the health of a package that this release replaces.
  const resumed = await resume(agent);
  const packages = withResumed(resumed, await reconcile(agent));
  await collectGarbage(agent.state);
  await letGoImages(agent);
  forgetOldOperations(agent.state);
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
    packages,
  };
};

const missingFrom = ({ accepted: { site }, offer: { documents } }: Judged): ImportResult['missing'] => ({
  channel: formatChannel(site.agent.channel),
  offered: [...new Set(documents.claimedChannels.map(formatChannel))],
});

/** @throws FleetError USAGE */
const checkGlass = ({ policy }: Agent, reason: string | undefined): void => {
  if (reason === undefined) return;
  if (!policy.breakGlass) {
    throw new FleetError('USAGE', 'this machine was not set up to take what has ended', {
      subject: '--accept-expired',
      hint: 'Ask for a newer release or a lease; whoever owns the machine may set breakGlass: true in its agent.yaml',
    });
  }
  if (reason.trim() === '') {
    throw new FleetError('USAGE', 'the reason is empty', {
      subject: '--reason',
      hint: 'Say in a few words why this cannot wait; the platform team reads them in the report',
    });
  }
};

/** A refusal is worth knowing at home: somebody may have brought the wrong stick, or a bad one. */
const orTellRefused = async <T>(agent: Agent, judge: () => Promise<T>): Promise<T> => {
  try {
    return await judge();
  } catch (cause) {
    const error = advised(toFleetError(cause));
    if (isFleetError(error, 'ABORTED') || agent.signal.aborted) throw error;
    // Where nothing is, nothing was refused: a path was mistyped.
    if (isFleetError(error, 'MEDIUM_MISSING')) throw error;
    // The other sticks are on their way: nothing is wrong.
    if (isFleetError(error, 'PARTS_MISSING')) throw error;
    try {
      tellRefused(agent, error);
    } catch {
      // A disk too full for one event is the reason the person is about to read.
    }
    throw error;
  }
};

/** A layout that lacks a blob is built again; a medium is copied again. */
const advised = (error: FleetError): FleetError => {
  const { code, message, subject, hint } = error;
  if (code !== 'MISSING_BLOB' || hint !== undefined) return error;
  return new FleetError(code, message, {
    ...(subject === undefined ? {} : { subject }),
    hint: 'The copy is not whole; make it again',
    cause: error,
  });
};
