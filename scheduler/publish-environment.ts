import type { Descriptor } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import { findReference, type Layout } from '#bundles/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { Revocations } from '#bundles/statements/predicates';
import { formatTime } from '#bundles/time';
import { VERSION } from '#bundles/version';
import { writeAwaiting } from './approvals/awaiting.ts';
import { isApproved, signBundle } from './approvals/sign-bundle.ts';
import type { EnvironmentBuild } from './build-environment.ts';
import type { BuiltBundle } from './bundle/build-bundle.ts';
import { followWithLeases } from './lease/follow-with-leases.ts';
import { fitHeld, fitSources } from './publish/fit-statement.ts';
import type { Releases } from './publish/open-releases.ts';
import { publishRelease } from './publish/publish-release.ts';
import { readPrevious } from './publish/read-previous.ts';
import type { PublishedRelease } from './publish/read-release.ts';
import { awaitingReference, bundleReference, waitingReference } from './publish/references.ts';
import { findRevoked, type Revoked, readRevocations } from './publish/revocation-list.ts';
import { copyImages, restoreBlobs, writeBundle } from './publish/write-blobs.ts';
import { releaseReferences } from './reissue/reissue-release.ts';
import { type Renewed, renewRelease } from './reissue/renew-release.ts';
import { type Allowance, NO_ALLOWANCE } from './removals/allowance.ts';
import { openRemovals } from './removals/find-removals.ts';
import { judgeBundle } from './removals/judge-bundle.ts';
import type { Removal } from './removals/removal.ts';
import { removalsHeld, writeWaiting } from './removals/waiting.ts';
import type { KeyDirectory } from './sign/key-directory.ts';

/** What happened to one channel. */
export type ChannelOutcome = Channel & {
  /**
   * 'renewed': the same bundle under a new number, for its release ends soon or a rotation has left it behind.
   * 'awaiting': it lacks signatures (docs/signing.md); sites keep what they have. 'blocked':
   * releasing would take away, at every site, a package that is only held. 'removals-held': it would take away packages
   * that nobody deleted. 'revoked': what was built was withdrawn.
   */
  readonly outcome:
    | 'released'
    | 'renewed'
    | 'awaiting'
    | 'unchanged'
    | 'empty'
    | 'blocked'
    | 'removals-held'
    | 'revoked';
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
  /** Packages that the last release has and the bundle that was built has not. */
  readonly removals: readonly Removal[];
  /** Why the channel waits: with 'removals-held'. */
  readonly waits?: FleetError;
  /** Blobs of an unchanged bundle that were missing or damaged in the layout and were written again. */
  readonly restored: number;
  /** Why the bundle that was built may not be released. */
  readonly revoked?: Revoked;
  /** Why the release that stays could not be signed anew, though it had to be. */
  readonly fault?: FleetError;
  /** Why a lease that the channel has is void from now on: the key to sign the next one is not here. */
  readonly leaseVoid?: FleetError;
};

type Publishing = {
  readonly keys: KeyDirectory;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Packages that may go although nobody deleted them; none when left out. */
  readonly allowRemovals?: Allowance;
};

/**
 * Signs and writes what changed of an environment. All blobs come first, and the index once and last: no reader finds a
 * pointer before what it points to, and a build that is cut off has released nothing of the environment.
 * @throws FleetError those of Releases; FROM_FUTURE when the last release is newer than the clock
 */
export const publishEnvironment = async (
  built: EnvironmentBuild,
  releases: Releases,
  options: Publishing,
): Promise<readonly ChannelOutcome[]> => {
  const layout = await releases.open();
  // The same for all channels, and of a large fleet a megabyte.
  const common = { candidate: canonicalBytes(built.candidate), sources: fitSources(built.sources) };
  // A build reports its candidate even where nothing is released: it can be built from in either case.
  await layout.blobs.write(digestOf(common.candidate), common.candidate.byteLength, common.candidate);
  const references = new Map<string, Descriptor>();
  const gone: string[] = [];
  const outcomes: ChannelOutcome[] = [];
  const { allowRemovals = NO_ALLOWANCE } = options;
  const findRemovals = openRemovals(layout, built, options.keys.roots, options.signal);
  for (const bundle of built.bundles) {
    options.signal.throwIfAborted();
    const channel = { environment: built.platform.environment, clusterType: bundle.clusterType.name };
    const previous = await readPrevious(layout, channel, options.keys.roots, options.now);
    const revocations = await readRevocations(layout, options.keys.root.fleet, channel, previous);
    const revoked = findRevoked(revocations, [bundle.bundle.digest]);
    const { outcome, removals, unmeant } = revoked
      ? { outcome: 'revoked' as const, removals: [], unmeant: [] }
      : await judgeBundle(bundle, previous, findRemovals, allowRemovals);
    const next = { ...common, bundle, previous, revocations };
    const fresh = outcome === 'released' ? await release(layout, channel, next, options) : undefined;
    // What stays must stay good, whatever keeps the new one back.
    const kept = !fresh && previous ? await renew(layout, channel, previous, options) : undefined;
    // After a rotation others may have to sign what did not change, too.
    const unsigned = outcome === 'unchanged' && kept?.fault?.code === 'THRESHOLD';
    const step = unsigned ? await release(layout, channel, next, options) : fresh;
    for (const [reference, descriptor] of step?.references ?? kept?.renewed?.references ?? [])
      references.set(reference, descriptor);
    if (outcome !== 'removals-held') gone.push(waitingReference(channel));
    else
      for (const [name, entry] of await writeWaiting(layout, channel, unmeant)) references.set(name, entry);
    // What waited was replaced by what is released now, or is not wanted any more.
    if (['released', 'unchanged', 'empty', 'revoked'].includes(step?.outcome ?? outcome))
      gone.push(awaitingReference(channel));
    const restored = outcome === 'unchanged' ? await restoreBlobs(layout.blobs, bundle, options.signal) : 0;
    const described = describe(channel, bundle, step?.outcome ?? outcome, previous);
    const version = step?.version ?? described.version;
    outcomes.push({
      ...described,
      version,
      restored,
      removals,
      ...(unmeant.length > 0 && { waits: removalsHeld(channel, unmeant) }),
      ...(revoked && { revoked }),
      ...(kept?.fault && !step && { fault: kept.fault }),
      ...(outcome === 'unchanged' && !step ? nowAt(kept?.renewed) : {}),
    });
  }
  const left = gone.filter((reference) => findReference(layout, reference));
  if (references.size === 0 && left.length === 0) return outcomes;
  await releases.point(references, left);
  const { keys, now } = options;
  const voided = await followWithLeases(releases, keys, outcomes.map(channelOf), now);
  return outcomes.map((outcome) => {
    const leaseVoid = voided.get(formatChannel(outcome));
    return leaseVoid ? { ...outcome, leaseVoid } : outcome;
  });
};

const channelOf = ({ environment, clusterType }: Channel): Channel => ({ environment, clusterType });

/** What cannot be renewed is told, and keeps nobody else back. */
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
  /** The candidate document. */
  readonly candidate: Buffer;
  readonly sources: EnvironmentBuild['sources'];
  readonly bundle: BuiltBundle;
  readonly previous: PublishedRelease | undefined;
  readonly revocations: Revocations;
};

type Step = {
  readonly outcome: 'released' | 'awaiting';
  /** Of the new release. */
  readonly version: number | undefined;
  readonly references: ReadonlyMap<string, Descriptor>;
};

/** What was built is released, or waits for the signatures that it still needs; no pointer moves before. */
const release = async (
  layout: Layout,
  channel: Channel,
  { candidate, sources, bundle, previous, revocations }: NextRelease,
  { keys, now, signal }: Publishing,
): Promise<Step> => {
  const images = await copyImages(layout.blobs, channel, bundle, signal);
  await writeBundle(layout.blobs, bundle.bundle);
  const { kind, digest, config, manifest } = bundle.bundle;
  const predicate = {
    fleet: keys.root.fleet,
    ...channel,
    kind,
    candidate: digestOf(candidate),
    sources,
    held: fitHeld(bundle.held.map(toHeldLine)),
    builder: `fleet-scheduler/${VERSION}`,
    builtAt: formatTime(now),
  };
  const signed = await signBundle(layout, keys, { channel, digest, predicate, candidate });
  if (!isApproved(signed, keys.root)) {
    const awaiting = await writeAwaiting(layout, { channel, bundle: digest, ...signed });
    const named = [bundleReference(channel, digest), manifest.descriptor] as const;
    return { outcome: 'awaiting', version: undefined, references: new Map([...images, named, ...awaiting]) };
  }
  const { version, artifact, references } = await publishRelease(layout, keys, {
    channel,
    bundle: { kind, digest, manifest: manifest.descriptor, minAgent: config.requirements.agent ?? null },
    candidate: signed.candidate,
    bundleStatements: signed.files,
    previous,
    revocations,
    now,
  });
  const past = releaseReferences(channel, artifact, previous);
  return { outcome: 'released', version, references: new Map([...images, ...references, ...past]) };
};

const describe = (
  channel: Channel,
  { bundle, held }: BuiltBundle,
  outcome: ChannelOutcome['outcome'],
  previous: PublishedRelease | undefined,
): Omit<ChannelOutcome, 'restored' | 'removals'> => ({
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

/** A held assignment as the bundle statement tells it. */
const toHeldLine = ({ assignment, error, kept }: BuiltBundle['held'][number]) => ({
  assignment: assignment.target.name,
  code: error.code,
  message: error.message.slice(0, 2000),
  ...(error.at === undefined ? {} : { at: error.at }),
  ...(kept === undefined ? {} : { kept: kept.digest }),
});
