import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { BundlePredicate, Revocations } from '#bundles/formats/statements/predicates';
import type { Channel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import type { EnvironmentBuild } from '../../assemble/environment-build.ts';
import { findRolledBack } from '../../load/releases/assignment-rollbacks.ts';
import { type AuditLog, readAuditLog } from '../../load/releases/audit-log.ts';
import { lineagesOf } from '../../load/releases/check-promoted.ts';
import { withNewestStatement } from '../../load/releases/newest-statement.ts';
import { readBase } from '../../load/releases/read-base.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';
import type { BuildLineage } from '../../release/chain/open-chain.ts';
import { heldIn } from '../../release/write/held-in.ts';
import { readPrevious } from '../../release/write/read-previous.ts';
import type { FindRemovals } from '../../release/removals/find-removals.ts';
import { compareBundle, type Comparison } from '../../release/removals/judge-bundle.ts';
import type { Removal } from '../../release/removals/removal.ts';
import { findTakenBack } from '../../release/rollout/begin-rollout.ts';
import { type RollbackChange, rollbackChange } from '../../release/rollout/only-rolled-back.ts';
import type { Allowance } from '../../settings/allowance.ts';
import { decideRelease, judgeContent, type ReleaseFacts } from './decide-release.ts';

/** A channel of the environment: its releases, its new bundle, and the facts for the decision about it. */
export type ChannelFacts = {
  readonly channel: Channel;
  readonly bundle: BuiltBundle;
  /** The newest release, whose number the next one follows. */
  readonly newest: StoredRelease | undefined;
  /** The newest one that agents can read. */
  readonly previous: StoredRelease | undefined;
  /** Why the newest one cannot be read. */
  readonly unread: FleetError | undefined;
  readonly revocations: Revocations;
  /** Held assignments in the bundle statement. */
  readonly held: BundlePredicate['held'];
  /** Removals that were neither declared nor allowed, whose packages the bundle keeps (findUnmeant). */
  readonly unmeant: readonly Removal[];
  /** Read only for a bundle whose content would be released. */
  readonly change: RollbackChange | undefined;
  readonly facts: ReleaseFacts;
};

type Options = {
  readonly layout: Layout;
  readonly roots: readonly TrustRoot[];
  readonly now: Date;
  readonly signal: AbortSignal;
  readonly allowance: Allowance;
  readonly lineage: BuildLineage | undefined;
  readonly siteLayers: Digest | undefined;
  /** Of this build. */
  readonly findRemovals: FindRemovals;
  /** By cluster type. */
  readonly unmeant: ReadonlyMap<string, readonly Removal[]>;
};

/**
 * Reads the facts for the decision about each channel of an environment, in the order of its bundles. Writes nothing.
 * @throws FleetError LAYOUT_INVALID, and the codes of readPrevious; FROM_FUTURE if the last release is newer than the clock
 */
export const readFacts = async (
  built: EnvironmentBuild,
  options: Options,
): Promise<readonly ChannelFacts[]> => {
  const { layout, roots, signal } = options;
  let log: Promise<AuditLog> | undefined;
  const readLog = (): Promise<AuditLog> => (log ??= readAuditLog(layout, roots));
  const found: ChannelFacts[] = [];
  for (const bundle of built.bundles) {
    signal.throwIfAborted();
    found.push(await readChannel(built, bundle, { ...options, readLog }));
  }
  return found;
};

type Reading = Options & {
  readonly readLog: () => Promise<AuditLog>;
};

const readChannel = async (
  { platform }: EnvironmentBuild,
  bundle: BuiltBundle,
  { layout, roots, now, allowance, lineage, siteLayers, unmeant, findRemovals, readLog }: Reading,
): Promise<ChannelFacts> => {
  const { digest } = bundle.bundle;
  const channel = { environment: platform.environment, clusterType: bundle.clusterType.name };
  const newest = await readPrevious(layout, channel, roots, now);
  const { release: previous, unread } = await readBase(layout, channel, roots, newest, digest);
  const revocations = await readRevocations(layout, roots, channel, newest);
  const revoked = findRevoked(revocations, [digest]);
  const held = heldIn(bundle, (lineage && platform.heldWorkloads) ?? []);
  const content = {
    comparison: revoked ? NOT_COMPARED : await compareBundle(bundle, previous, findRemovals),
    allowance,
    isUnread: unread !== undefined,
    isBaseLost: unread !== undefined && !previous && newest?.predicate.version !== 1,
    isIncomplete: bundle.held.some(({ kept }) => !kept),
  };
  const stated = previous && (await readStated(layout, previous));
  const isNew = !revoked && judgeContent(content).outcome === 'released';
  const change = isNew
    ? await rollbackChange(layout, bundle, previous, { held, before: stated?.held ?? [] })
    : undefined;
  const facts: ReleaseFacts = {
    ...content,
    revoked,
    isHolding: held.length > 0,
    isOnlyRolledBack: change?.only ?? false,
    lineage,
    stated,
    siteLayers,
    takenBack: undefined,
  };
  const isReleased = decideRelease(facts).kind === 'release';
  const takenBack = isReleased ? await readTakenBack(layout, await readLog(), channel, digest) : undefined;
  return {
    channel,
    bundle,
    newest,
    previous,
    unread,
    revocations,
    held,
    unmeant: unmeant.get(channel.clusterType) ?? [],
    change,
    facts: { ...facts, takenBack },
  };
};

/** Of a bundle that was withdrawn. */
const NOT_COMPARED: Comparison = { isUnchanged: false, isFirst: false, assignments: 0, removals: [] };

const readStated = async (layout: Layout, previous: StoredRelease): Promise<ReleaseFacts['stated']> => {
  const [own] = await lineagesOf(layout, previous);
  const latest = await withNewestStatement(layout, previous);
  const newest = latest.restated ? (await lineagesOf(layout, latest))[0] : own;
  return newest && { ...newest, wasTried: own?.shared !== undefined && own.held.length === 0 };
};

const readTakenBack = async (
  layout: Layout,
  log: AuditLog,
  channel: Channel,
  bundle: BuiltBundle['bundle']['digest'],
): Promise<FleetError | undefined> =>
  (await findTakenBack(layout, log, { channel, bundles: [bundle] })) ??
  findRolledBack(log.entries, channel, bundle);
