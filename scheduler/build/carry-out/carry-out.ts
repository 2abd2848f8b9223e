import { defined } from '#bundles/defined';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { findReference } from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { SITE_LAYERS_ARTIFACT, SITE_LAYERS_JSON } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { EnvironmentBuild } from '../../assemble/environment-build.ts';
import { writeArtifact } from '../../load/releases/artifact.ts';
import { restatedReference } from '../../load/releases/newest-statement.ts';
import { awaitingReference, siteLayersReference, waitingReference } from '../../load/releases/references.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import { limitSources } from '../../release/write/limit-statement.ts';
import { toHeldLine } from '../../release/write/held-in.ts';
import { sendRestatements } from '../../release/write/send-restatements.ts';
import { restoreBlobs } from '../../release/write/write-blobs.ts';
import { type Renewed, renewRelease } from '../../release/reissue/renew-release.ts';
import { removalsHeld, writeWaiting } from '../../release/removals/waiting.ts';
import type { Decision } from '../decide/decide-release.ts';
import type { ChannelFacts } from '../decide/read-facts.ts';
import type { ChannelOutcome } from '../channel-outcome.ts';
import { releaseBundle, restateReleased, type Work, type Written } from './release-bundle.ts';

export type Decided = ChannelFacts & { readonly decision: Decision };

/**
 * Carries out the decisions about the channels of an environment: signs and writes what is released, and renews the current release of
 * channels that stay. All blobs are written first and the index once at the end, so that readers never see a pointer to a missing blob
 * and an interrupted build releases nothing of the environment.
 * @returns one outcome per channel, in their order
 * @throws FleetError BUSY, LAYOUT_INVALID, KEY_MISSING, DISK_FULL
 */
export const carryOut = async (
  built: EnvironmentBuild,
  channels: readonly Decided[],
  options: Omit<Work, 'candidate' | 'sources' | 'whole'>,
): Promise<readonly ChannelOutcome[]> => {
  const { layout, releases, keys, now, signal } = options;
  // Encoded once: the same for all channels, and about a megabyte for a large fleet.
  const candidate = canonicalBytes(built.candidate);
  const work: Work = { ...options, candidate, sources: limitSources(built.sources), whole: new Set() };
  // Written even if nothing is released: the build reports this digest, and a later build may start from it.
  await layout.blobs.write(digestOf(candidate), candidate.byteLength, candidate);
  const references = await writeLayers(built, options);
  const gone: string[] = [];
  const stated: Buffer[] = [];
  const outcomes: ChannelOutcome[] = [];
  for (const one of channels) {
    signal.throwIfAborted();
    const result = await carryOutOne(work, one);
    const unmeant = unmeantOf(one);
    const waiting =
      unmeant.length === 0 ? new Map<string, Descriptor>() : await writeWaiting(layout, one.channel, unmeant);
    for (const [name, entry] of [...result.references, ...waiting]) references.set(name, entry);
    gone.push(...result.gone, ...(unmeant.length === 0 ? [waitingReference(one.channel)] : []));
    stated.push(...(result.stated ?? []));
    outcomes.push(toOutcome(one, result));
  }
  const left = gone.filter((reference) => findReference(layout, reference));
  if (references.size === 0 && left.length === 0) return outcomes;
  await releases.point(references, left);
  await sendRestatements(keys, stated);
  const voided = await followWithLeases(releases, keys, outcomes.map(channelOf), now);
  return outcomes.map((outcome) => {
    const leaseVoid = voided.get(formatChannel(outcome));
    return leaseVoid ? { ...outcome, leaseVoid } : outcome;
  });
};

/** Writes the layers that select sites, which the statements name. */
const writeLayers = async (
  { platform: { environment } }: EnvironmentBuild,
  { layout, siteLayers }: Pick<Work, 'layout' | 'siteLayers'>,
): Promise<Map<string, Descriptor>> => {
  if (!siteLayers) return new Map();
  const reference = siteLayersReference(environment, digestOf(siteLayers));
  const document = { role: 'site-layers', mediaType: SITE_LAYERS_JSON, environment, bytes: siteLayers };
  const descriptor = await writeArtifact(layout, SITE_LAYERS_ARTIFACT, [document]);
  return findReference(layout, reference) ? new Map() : new Map([[reference, descriptor]]);
};

/** The result for one channel. The index is still to be written. */
type Result = {
  readonly outcome: ChannelOutcome['outcome'];
  /** Undefined: that of the newest release. */
  readonly version?: number;
  readonly references: ReadonlyMap<string, Descriptor>;
  /** References to remove. */
  readonly gone: readonly string[];
  /** Signature files of a statement that was signed again. */
  readonly stated?: readonly Buffer[];
  readonly restored?: number;
  readonly notes?: Pick<ChannelOutcome, 'stage' | 'superseded' | 'restated' | 'fault'>;
};

const carryOutOne = async (work: Work, channel: Decided): Promise<Result> => {
  switch (channel.decision.kind) {
    case 'release':
      return toResult(channel, await releaseBundle(work, channel));
    case 'keep':
    case 'restate':
      return await keep(work, channel, channel.decision.kind);
    case 'empty':
    case 'revoked':
    case 'taken-back':
      return await stay(work, channel, channel.decision.kind, [awaitingReference(channel.channel)]);
    // A bundle that awaits approval still may be approved.
    case 'blocked':
    case 'removals-held':
    case 'direct-held':
      return await stay(work, channel, channel.decision.kind, []);
  }
};

/** The result for a bundle that was released, or that waits for signatures. */
const toResult = ({ channel, bundle }: Decided, written: Written): Result => {
  const { references } = written;
  switch (written.kind) {
    case 'released': {
      const { kind, version, references: _, ...notes } = written;
      const gone = [restatedReference(channel, bundle.bundle.digest), awaitingReference(channel)];
      return { outcome: kind, version, references, gone, notes };
    }
    case 'restated': {
      const gone = [awaitingReference(channel)];
      return { outcome: 'unchanged', references, gone, stated: written.files, notes: { restated: true } };
    }
    case 'awaiting':
      return { outcome: 'awaiting', references, gone: [] };
  }
};

/** Keeps the channel's bundle: its release must not expire, and its blobs must be there. */
const keep = async (work: Work, channel: Decided, kind: 'keep' | 'restate'): Promise<Result> => {
  const { renewed, fault } = await renew(work, channel);
  // After a root rotation an unchanged bundle may need the signatures of others, too.
  const isUnsigned = fault?.code === 'THRESHOLD';
  const signAgain = kind === 'restate' ? restateReleased : undefined;
  const sign = isUnsigned ? releaseBundle : signAgain;
  const written = await sign?.(work, channel);
  const restored = await restoreBlobs(work.layout.blobs, channel.bundle, work);
  const kept: Result = defined({
    outcome: renewed?.outcome === 'renewed' ? 'renewed' : 'unchanged',
    version: renewed?.outcome === 'renewed' ? renewed.version : undefined,
    references: renewed?.references ?? new Map(),
    gone: [awaitingReference(channel.channel)],
    restored,
    notes: fault ? { fault } : {},
  });
  if (!written) return kept;
  const signed = toResult(channel, written);
  const references = new Map([...kept.references, ...written.references]);
  return written.kind === 'restated'
    ? { ...signed, ...kept, references, notes: { ...signed.notes, ...kept.notes } }
    : { ...signed, references, restored };
};

/** Releases nothing. The current release stays, and must not expire. */
const stay = async (
  work: Work,
  channel: Decided,
  outcome: ChannelOutcome['outcome'],
  gone: readonly string[],
): Promise<Result> => {
  const { renewed, fault } = await renew(work, channel);
  return { outcome, references: renewed?.references ?? new Map(), gone, notes: fault ? { fault } : {} };
};

/** Renews the current release if it is due. Returns a failure as `fault` instead of throwing; internal errors are thrown. */
const renew = async (
  { layout, keys, now }: Work,
  { channel, newest, unread }: Decided,
): Promise<{ readonly renewed?: Renewed; readonly fault?: FleetError }> => {
  if (!newest || unread) return {};
  try {
    return { renewed: await renewRelease(layout, keys, { channel, previous: newest, now }) };
  } catch (error) {
    if (error instanceof FleetError && error.exitCode !== 1) return { fault: error };
    throw error;
  }
};

const channelOf = ({ environment, clusterType }: Channel): Channel => ({ environment, clusterType });

const unmeantOf = ({ unmeant, decision }: Decided): ChannelOutcome['unmeant'] =>
  unmeant.length === 0 && decision.kind === 'removals-held' ? decision.unmeant : unmeant;

const toOutcome = (decided: Decided, { outcome, version, restored = 0, notes }: Result): ChannelOutcome => {
  const { channel, bundle, newest, facts, unread, decision } = decided;
  const unmeant = unmeantOf(decided);
  return {
    ...channel,
    outcome,
    version: version ?? newest?.predicate.version ?? 0,
    bundle: outcome === 'empty' ? undefined : bundle.bundle.digest,
    assignments: bundle.bundle.config.assignments.length,
    held: bundle.held.map((one) => ({
      ...toHeldLine(one),
      at: one.error.at,
      kept: one.kept?.digest,
      code: one.error.code,
      error: one.error,
    })),
    restored,
    removals: facts.comparison.removals,
    unmeant,
    ...defined({
      direct: isDirect(decision) ? (true as const) : undefined,
      waits: unmeant.length > 0 ? removalsHeld(channel, unmeant) : undefined,
      revoked: decision.kind === 'revoked' ? decision.revoked : undefined,
      takenBack: decision.kind === 'taken-back' ? decision.error : undefined,
      unread,
    }),
    ...notes,
  };
};

const isDirect = (decision: Decision): boolean =>
  decision.kind === 'direct-held' || ('isDirect' in decision && decision.isDirect);
