import type { Descriptor } from '#bundles/bundle/manifest';
import { readBundle } from '#bundles/bundle/read-bundle';
import { canonicalBytes } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import { VERSION } from '#bundles/version';
import type { EnvironmentBuild } from '../build-environment.ts';
import type { BuiltBundle } from '../bundle/build-bundle.ts';
import type { Platform } from '../platform/model.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { fitHeld, fitSources } from './fit-statement.ts';
import type { Releases } from './open-releases.ts';
import { publishRelease } from './publish-release.ts';
import { type PublishedRelease, readRelease } from './read-release.ts';
import { copyImages, restoreBlobs, writeBundle } from './write-blobs.ts';

/** What happened to one channel. */
export type ChannelOutcome = Channel & {
  /** 'blocked': releasing would take away, at every site, a package that is only held. */
  readonly outcome: 'released' | 'unchanged' | 'empty' | 'blocked';
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
  /** Blobs of an unchanged bundle that were missing or damaged in the layout and were written again. */
  readonly restored: number;
};

type Publishing = { readonly keys: KeyDirectory; readonly now: Date; readonly signal: AbortSignal };

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
  const references = new Map<string, Descriptor>();
  const outcomes: ChannelOutcome[] = [];
  for (const bundle of built.bundles) {
    options.signal.throwIfAborted();
    const channel = { environment: built.platform.environment, clusterType: bundle.clusterType.name };
    const previous = await readPrevious(layout, channel, options);
    const outcome = await judge(layout, bundle, previous, built.platform);
    if (outcome === 'released') {
      for (const [reference, descriptor] of await release(
        layout,
        channel,
        { ...common, bundle, previous },
        options,
      ))
        references.set(reference, descriptor);
    }
    const restored = outcome === 'unchanged' ? await restoreBlobs(layout.blobs, bundle, options.signal) : 0;
    outcomes.push({ ...describe(channel, bundle, outcome, previous), restored });
  }
  if (references.size > 0) await releases.point(references);
  return outcomes;
};

/** How far the last release may be ahead of the clock; as in acceptance (docs/bundle-format.md section 8, step 4). */
const LEEWAY_MS = DAY_MS;

const readPrevious = async (
  layout: Layout,
  channel: Channel,
  { keys, now }: Publishing,
): Promise<PublishedRelease | undefined> => {
  const previous = await readRelease(layout, channel, keys.root).catch((error: unknown) => {
    throw damaged(error, channel);
  });
  if (!previous || parseTime(previous.predicate.issuedAt).getTime() <= now.getTime() + LEEWAY_MS)
    return previous;
  throw new FleetError(
    'FROM_FUTURE',
    `release ${previous.predicate.version} of ${formatChannel(channel)} was issued at ${previous.predicate.issuedAt}, which this machine's clock says is to come`,
    { subject: layout.directory, hint: 'Set the clock; a release made now would end too early' },
  );
};

/** Without the last release nobody knows which number comes next. */
const damaged = (error: unknown, channel: Channel): unknown => {
  const lost = ['DIGEST_MISMATCH', 'SIZE_MISMATCH', 'MISSING_BLOB', 'LAYOUT_INVALID', 'BAD_JSON'];
  if (!(error instanceof FleetError && lost.includes(error.code))) return error;
  return new FleetError(error.code, error.message, {
    subject: `the last release of ${formatChannel(channel)}`,
    cause: error,
    hint: 'Put back the last copy of this layout, or of the blob',
  });
};

/**
 * An empty bundle is released only to take away what an earlier one brought; and nothing is taken away because somebody's
 * template failed today.
 */
const judge = async (
  layout: Layout,
  { bundle, held }: BuiltBundle,
  previous: PublishedRelease | undefined,
  { heldWorkloads = [] }: Platform,
): Promise<ChannelOutcome['outcome']> => {
  const before = previous?.subjects.get(`bundle/${bundle.kind}`);
  if (before === undefined) return bundle.config.assignments.length === 0 ? 'empty' : 'released';
  if (before === bundle.digest) return 'unchanged';
  const lost = new Set(held.filter(({ kept }) => !kept).map(({ assignment }) => assignment.target.name));
  if (lost.size === 0 && heldWorkloads.length === 0) return 'released';
  const unread = new Set(heldWorkloads.map(({ workspace }) => workspace));
  const now = new Set(bundle.config.assignments.map(({ id }) => id));
  const { config } = await readBundle(layout.blobs, before);
  const gone = config.assignments.filter(({ id }) => !now.has(id));
  return gone.some(({ id, workspace }) => lost.has(id) || unread.has(workspace ?? ''))
    ? 'blocked'
    : 'released';
};

type NextRelease = {
  /** The candidate document. */
  readonly candidate: Buffer;
  readonly sources: EnvironmentBuild['sources'];
  readonly bundle: BuiltBundle;
  readonly previous: PublishedRelease | undefined;
};

const release = async (
  layout: Layout,
  channel: Channel,
  { candidate, sources, bundle, previous }: NextRelease,
  { keys, now, signal }: Publishing,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const images = await copyImages(layout.blobs, channel, bundle, signal);
  await writeBundle(layout.blobs, bundle.bundle);
  const pointers = await publishRelease(layout, keys, {
    channel,
    bundle: bundle.bundle,
    candidate,
    statement: {
      sources,
      held: fitHeld(bundle.held.map(toHeldLine)),
      builder: `fleet-scheduler/${VERSION}`,
    },
    previous,
    revocations: { fleet: keys.root.fleet, ...channel, revoked: [] },
    now,
  });
  return new Map([...images, ...pointers]);
};

const describe = (
  channel: Channel,
  { bundle, held }: BuiltBundle,
  outcome: ChannelOutcome['outcome'],
  previous: PublishedRelease | undefined,
): Omit<ChannelOutcome, 'restored'> => ({
  ...channel,
  outcome,
  version: (previous?.predicate.version ?? 0) + (outcome === 'released' ? 1 : 0),
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
