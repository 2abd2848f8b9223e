import { reachesEveryone } from '#bundles/trust/accept/is-selected';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { BundlePredicate, Revocations } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import { VERSION } from '#bundles/version';
import { writeAwaiting } from '../release/approvals/awaiting.ts';
import { isApproved, signBundle } from '../release/approvals/sign-bundle.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import type { BuiltBundle } from '../assemble/bundle/build-bundle.ts';
import { judgeLineage } from '../release/chain/judge-lineage.ts';
import type { BuildLineage } from '../release/chain/open-chain.ts';
import { followWithLeases } from '../release/lease/follow-with-leases.ts';
import { fitHeld, fitSources } from '../release/publish/fit-statement.ts';
import { heldIn, toHeldLine } from '../release/publish/held-in.ts';
import type { Releases } from '../release/publish/open-releases.ts';
import { publishRelease } from '../release/publish/publish-release.ts';
import { readPrevious } from '../release/publish/read-previous.ts';
import { lineagesOf } from '../load/releases/check-promoted.ts';
import { restatedReference, withNewestStatement } from '../load/releases/newest-statement.ts';
import { restateBundle } from '../release/approvals/restate-bundle.ts';
import { showRestated } from '../release/publish/show-restated.ts';
import { type Base, readBase } from '../load/releases/read-base.ts';
import type { PublishedRelease } from '../load/releases/read-release.ts';
import { awaitingReference, bundleReference, waitingReference } from '../load/releases/references.ts';
import { findRolledBack } from '../load/releases/assignment-rollbacks.ts';
import { findRevoked, type Revoked, readRevocations } from '../load/releases/revocation-list.ts';
import { copyImages, restoreBlobs, writeBundle } from '../release/publish/write-blobs.ts';
import {
  beginRelease,
  findTakenBack,
  startRollout,
  type Superseded,
  supersededBy,
} from '../release/rollout/begin-rollout.ts';
import { type RollbackChange, rollbackChange } from '../release/rollout/only-rolled-back.ts';
import { planDocument } from '../release/rollout/plan-document.ts';
import type { RolloutPolicy } from '../model/promotion.ts';
import { type AuditLog, EMPTY_LOG, readAuditLog } from '../load/releases/audit-log.ts';
import { releaseReferences } from '../release/reissue/reissue-release.ts';
import { type Renewed, renewRelease } from '../release/reissue/renew-release.ts';
import { type Allowance, NO_ALLOWANCE } from '../settings/allowance.ts';
import { openRemovals } from '../release/removals/find-removals.ts';
import { judgeBundle, type Judgement } from '../release/removals/judge-bundle.ts';
import type { Removal } from '../release/removals/removal.ts';
import { removalsHeld, writeWaiting } from '../release/removals/waiting.ts';
import type { KeyDirectory } from '../keys/key-directory.ts';

/** Result of a build for one channel. */
export type ChannelOutcome = Channel & {
  /**
   * 'renewed': the same bundle under a new number, because its release expires soon or predates a root rotation. 'awaiting':
   * the bundle lacks signatures (docs/signing.md); sites keep the current release. 'empty': the channel has no release, and the
   * bundle has no packages. 'blocked': the release would remove a package that is only held. 'removals-held': the release would
   * remove packages although no object was deleted, and the last release cannot supply them. 'revoked': the bundle that was built has been withdrawn. 'direct-held': the
   * bundle changed without a promotion, and the policy of the link forbids that. 'taken-back': its rollout, or the channel, was
   * taken back and not resumed.
   */
  readonly outcome:
    | 'released'
    | 'renewed'
    | 'awaiting'
    | 'unchanged'
    | 'empty'
    | 'blocked'
    | 'removals-held'
    | 'revoked'
    | 'direct-held'
    | 'taken-back';
  readonly version: number;
  readonly bundle: Digest | undefined;
  readonly assignments: number;
  readonly held: readonly {
    readonly assignment: string;
    readonly code: ErrorCode;
    readonly message: string;
    readonly at: Place | undefined;
    readonly kept: Digest | undefined;
    readonly error: FleetError;
  }[];
  /** The bundle differs from the released one, and both were built from the same promotion: the environment's own change. */
  readonly direct?: true;
  /** Packages of the last release that the new bundle does not have. */
  readonly removals: readonly Removal[];
  /** Removals that were neither declared nor allowed. Their packages stay as they were, whether or not the rest is released. */
  readonly unmeant: readonly Removal[];
  /** REMOVALS_HELD, set if there are unmeant removals. */
  readonly waits?: FleetError;
  /** The candidate of this build gave the released bundle again, and its statement says so now: no release follows from that. */
  readonly restated?: true;
  /** Number of blobs of an unchanged bundle that were missing or damaged in the layout and were written again. */
  readonly restored: number;
  /** The revocation, set with 'revoked'. */
  readonly revoked?: Revoked;
  /** ROLLOUT_TAKEN_BACK or ROLLED_BACK, set with 'taken-back'. */
  readonly takenBack?: FleetError;
  /** The stage that the new release begins with, if the environment has a RolloutPolicy. */
  readonly stage?: string;
  /** The rollout that the new release ended before it was complete. */
  readonly superseded?: Superseded;
  /** Why the current release could not be renewed although it was due. */
  readonly fault?: FleetError;
  /** Why the last release of the channel is passed over: no agent can read it. The bundle was compared with the one before. */
  readonly unread?: FleetError;
  /** Why the channel's lease could not be renewed for the new release. Until it is, the channel has no valid lease. */
  readonly leaseVoid?: FleetError;
};

type Publishing = {
  readonly keys: KeyDirectory;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Removals to allow although no object was deleted. Default: none. */
  readonly allowRemovals?: Allowance;
  /** By cluster type, the removals that the build has left out (keepUnmeant). */
  readonly unmeant: ReadonlyMap<string, readonly Removal[]>;
  /** Only in a platform with a chain. */
  readonly lineage?: BuildLineage;
  /** The stages in which releases reach the agents. Default: all agents at once. */
  readonly rolloutPolicy?: RolloutPolicy | undefined;
};

/**
 * Decides for each channel of an environment whether its bundle is released, signs and writes what changed, and renews the
 * current release of channels that stay. All blobs are written first and the index once at the end, so that readers never see
 * a pointer to a missing blob and an interrupted build releases nothing of the environment.
 * @returns one outcome per bundle, in the order of `built.bundles`
 * @throws FleetError BUSY, LAYOUT_INVALID; FROM_FUTURE if the last release is newer than the clock; KEY_MISSING
 */
export const publishEnvironment = async (
  built: EnvironmentBuild,
  releases: Releases,
  options: Publishing,
): Promise<readonly ChannelOutcome[]> => {
  const layout = await releases.open();
  // Encoded once: the same for all channels, and about a megabyte for a large fleet.
  const common = { candidate: canonicalBytes(built.candidate), sources: fitSources(built.sources) };
  // Written even if nothing is released: the build reports this digest, and a later build may start from it.
  await layout.blobs.write(digestOf(common.candidate), common.candidate.byteLength, common.candidate);
  const references = new Map<string, Descriptor>();
  const gone: string[] = [];
  const outcomes: ChannelOutcome[] = [];
  const stated: Buffer[] = [];
  const { allowRemovals = NO_ALLOWANCE } = options;
  const findRemovals = openRemovals(layout, built, options.keys.roots, options.signal);
  let read: Promise<AuditLog> | undefined;
  const readLog = (): Promise<AuditLog> => (read ??= readAuditLog(layout, options.keys.roots));
  for (const bundle of built.bundles) {
    options.signal.throwIfAborted();
    const channel = { environment: built.platform.environment, clusterType: bundle.clusterType.name };
    const newest = await readPrevious(layout, channel, options.keys.roots, options.now);
    const base = await readBase(layout, channel, options.keys.roots, newest, bundle.bundle.digest);
    const { release: previous, unread } = base;
    const revocations = await readRevocations(layout, options.keys.root.fleet, channel, newest);
    const revoked = findRevoked(revocations, [bundle.bundle.digest]);
    const judged = revoked
      ? { outcome: 'revoked' as const, removals: [], unmeant: [] }
      : supersede(base, await judgeBundle(bundle, previous, findRemovals, allowRemovals), {
          held: bundle.held,
          isFirst: newest?.predicate.version === 1,
        });
    const { removals } = judged;
    const unmeant = options.unmeant.get(channel.clusterType) ?? judged.unmeant;
    const held = heldIn(bundle, (options.lineage && built.platform.heldWorkloads) ?? []);
    const own = previous && (await lineagesOf(layout, previous))[0];
    const latest = previous && (await withNewestStatement(layout, previous));
    const before = latest?.restated ? (await lineagesOf(layout, latest))[0] : own;
    const change =
      judged.outcome === 'released'
        ? await rollbackChange(layout, bundle, previous, { held, before: before?.held ?? [] })
        : undefined;
    const lineage = change?.only
      ? { outcome: judged.outcome, direct: undefined }
      : judgeLineage(
          judged.outcome,
          options.lineage,
          options.lineage &&
            before && { ...before, wasTried: own?.shared !== undefined && own.held.length === 0 },
          held.length > 0,
        );
    const { direct } = lineage;
    const named = { channel, bundles: [bundle.bundle.digest] };
    const log = lineage.outcome === 'released' ? await readLog() : EMPTY_LOG;
    const takenBack =
      (await findTakenBack(layout, log, named)) ?? findRolledBack(log.entries, channel, bundle.bundle.digest);
    const isRestated = lineage.outcome === 'restated' && !takenBack;
    const outcome = takenBack ? 'taken-back' : lineage.outcome === 'restated' ? 'unchanged' : lineage.outcome;
    const next = { ...common, bundle, held, newest, previous, revocations, change };
    const fresh =
      outcome === 'released' ? await release(releases, layout, channel, next, options) : undefined;
    // A channel without a new release keeps its current one, which must not expire.
    const kept = !fresh && newest && !unread ? await renew(layout, channel, newest, options) : undefined;
    // After a root rotation an unchanged bundle may need the signatures of others, too.
    const unsigned = outcome === 'unchanged' && kept?.fault?.code === 'THRESHOLD';
    const step =
      unsigned || isRestated
        ? await release(releases, layout, channel, { ...next, isRestated: !unsigned }, options)
        : fresh;
    for (const [reference, descriptor] of [...(kept?.renewed?.references ?? []), ...(step?.references ?? [])])
      references.set(reference, descriptor);
    if (step?.outcome === 'released') gone.push(restatedReference(channel, bundle.bundle.digest));
    if (unmeant.length === 0) gone.push(waitingReference(channel));
    else
      for (const [name, entry] of await writeWaiting(layout, channel, unmeant)) references.set(name, entry);
    // A bundle that awaited approval is replaced by this outcome or no longer wanted.
    if (
      ['released', 'restated', 'unchanged', 'empty', 'revoked', 'taken-back'].includes(
        step?.outcome ?? outcome,
      )
    )
      gone.push(awaitingReference(channel));
    const restored = outcome === 'unchanged' ? await restoreBlobs(layout.blobs, bundle, options.signal) : 0;
    const isStated = step?.outcome === 'restated';
    stated.push(...(step?.stated ?? []));
    const shown = step && step.outcome !== 'restated' ? step.outcome : outcome;
    const described = describe(channel, bundle, shown, newest);
    const version = step?.version ?? described.version;
    outcomes.push({
      ...described,
      version,
      restored,
      removals,
      unmeant,
      ...(direct && { direct }),
      ...(unmeant.length > 0 && { waits: removalsHeld(channel, unmeant) }),
      ...(revoked && { revoked }),
      ...(takenBack && { takenBack }),
      ...(unread && { unread }),
      ...step?.staged,
      ...(isStated && { restated: true as const }),
      ...(kept?.fault && (!step || isStated) && { fault: kept.fault }),
      ...(outcome === 'unchanged' && (!step || isStated) ? nowAt(kept?.renewed) : {}),
    });
  }
  const left = gone.filter((reference) => findReference(layout, reference));
  if (references.size === 0 && left.length === 0) return outcomes;
  await releases.point(references, left);
  const { keys, now } = options;
  await showRestated(keys, stated);
  const voided = await followWithLeases(releases, keys, outcomes.map(channelOf), now);
  return outcomes.map((outcome) => {
    const leaseVoid = voided.get(formatChannel(outcome));
    return leaseVoid ? { ...outcome, leaseVoid } : outcome;
  });
};

/**
 * A release that no agent can read is replaced, also by the bundle of the one before. If earlier ones are lost, what sites run is unknown,
 * and nothing may be missing.
 */
const supersede = (
  { unread, release }: Base,
  judged: Judgement,
  { held, isFirst }: { readonly held: BuiltBundle['held']; readonly isFirst: boolean },
): Judgement => {
  if (!unread) return judged;
  if (!release && !isFirst && held.some(({ kept }) => !kept)) return { ...judged, outcome: 'blocked' };
  return judged.outcome === 'unchanged' ? { ...judged, outcome: 'released' } : judged;
};

const channelOf = ({ environment, clusterType }: Channel): Channel => ({ environment, clusterType });

/** Renews the current release if it is due. Returns a failure as `fault` instead of throwing; internal errors are thrown. */
const renew = async (
  layout: Layout,
  channel: Channel,
  previous: PublishedRelease,
  { keys, now }: Publishing,
): Promise<{ readonly renewed?: Renewed; readonly fault?: FleetError }> => {
  try {
    return { renewed: await renewRelease(layout, keys, { channel, previous, now }) };
  } catch (error) {
    if (error instanceof FleetError && error.exitCode !== 1) return { fault: error };
    throw error;
  }
};

const nowAt = (renewed: Renewed | undefined): Partial<ChannelOutcome> =>
  renewed?.outcome === 'renewed' ? { outcome: 'renewed', version: renewed.version } : {};

type NextRelease = {
  /** The candidate document, canonical JSON. */
  readonly candidate: Buffer;
  readonly sources: EnvironmentBuild['sources'];
  readonly bundle: BuiltBundle;
  /** Held assignments in its statement. */
  readonly held: BundlePredicate['held'];
  /** The newest release, whose number the new one follows. */
  readonly newest: PublishedRelease | undefined;
  /** The newest one that agents can read. */
  readonly previous: PublishedRelease | undefined;
  readonly revocations: Revocations;
  readonly change: RollbackChange | undefined;
  /** The bundle is released already: only its statement is signed. */
  readonly isRestated?: boolean;
};

type Step = {
  readonly outcome: 'released' | 'restated' | 'awaiting';
  /** Number of the new release; undefined with 'restated' and 'awaiting'. */
  readonly version: number | undefined;
  readonly references: ReadonlyMap<string, Descriptor>;
  /** Signature files of the statement, with 'restated'. */
  readonly stated?: readonly Buffer[];
  readonly staged: Pick<ChannelOutcome, 'stage' | 'superseded'>;
};

/** Writes and signs a bundle, then releases it or, if signatures are missing, stores it as awaiting. Does not write the index. */
const release = async (
  releases: Releases,
  layout: Layout,
  channel: Channel,
  {
    candidate,
    sources,
    bundle,
    held,
    newest,
    previous,
    revocations,
    change,
    isRestated = false,
  }: NextRelease,
  { keys, now, signal, lineage, rolloutPolicy }: Publishing,
): Promise<Step> => {
  const images = await copyImages(layout.blobs, channel, bundle, signal);
  await writeBundle(layout.blobs, bundle.bundle);
  const { kind, digest, config, manifest } = bundle.bundle;
  const predicate = {
    fleet: keys.root.fleet,
    ...channel,
    kind,
    candidate: digestOf(candidate),
    ...(lineage && { shared: lineage.shared }),
    ...(lineage?.promoted !== undefined && { promoted: lineage.promoted }),
    sources,
    held: fitHeld(held),
    builder: `fleet-scheduler/${VERSION}`,
    builtAt: formatTime(now),
  };
  // Content that ran before goes to all agents at once, unless not all of them have the release before.
  const isBack = change?.back === true && previous && reachesEveryone(previous.predicate.rollout);
  const beginning = await beginRelease(layout, isBack ? undefined : rolloutPolicy, {
    channel,
    candidate: predicate.candidate,
    bundles: [digest],
    previous,
    follows: newest?.predicate.version ?? 0,
  });
  const { plan, rollout, isNew } = beginning;
  const signed = await signBundle(layout, keys, { channel, digest, predicate, candidate });
  if (!isApproved(signed, keys.root)) {
    const awaiting = await writeAwaiting(layout, { channel, bundle: digest, plan, ...signed });
    const named = [bundleReference(channel, digest), manifest.descriptor] as const;
    return {
      outcome: 'awaiting',
      version: undefined,
      staged: {},
      references: new Map([...images, named, ...awaiting]),
    };
  }
  if (isRestated)
    return {
      outcome: 'restated',
      version: undefined,
      staged: {},
      stated: signed.files,
      references: await restateBundle(layout, channel, digest, signed),
    };
  // Durable before the release that follows from it.
  if (plan && isNew) await startRollout(releases, keys, plan, now);
  const superseded = isNew ? await supersededBy(layout, previous) : undefined;
  const stage = isNew ? plan?.plan.stages[0]?.name : undefined;
  const { version, artifact, references } = await publishRelease(layout, keys, {
    channel,
    bundle: { kind, digest, manifest: manifest.descriptor, minAgent: config.requirements.agent ?? null },
    candidate: signed.candidate,
    bundleStatements: signed.files,
    previous: newest,
    rollout,
    documents: plan ? [planDocument(channel, plan)] : [],
    revocations,
    now,
  });
  const past = releaseReferences(channel, artifact, newest);
  return {
    outcome: 'released',
    version,
    references: new Map([...images, ...references, ...past]),
    staged: { ...(stage !== undefined && { stage }), ...(superseded && { superseded }) },
  };
};

const describe = (
  channel: Channel,
  { bundle, held }: BuiltBundle,
  outcome: ChannelOutcome['outcome'],
  previous: PublishedRelease | undefined,
): Omit<ChannelOutcome, 'restored' | 'removals' | 'unmeant'> => ({
  ...channel,
  outcome,
  version: previous?.predicate.version ?? 0,
  bundle: outcome === 'empty' ? undefined : bundle.digest,
  assignments: bundle.config.assignments.length,
  held: held.map((one) => ({
    ...toHeldLine(one),
    at: one.error.at,
    kept: one.kept?.digest,
    code: one.error.code,
    error: one.error,
  })),
});
