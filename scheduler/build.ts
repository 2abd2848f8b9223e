import { availableParallelism } from 'node:os';
import type { Descriptor } from '#bundles/bundle/manifest';
import { readBundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { ErrorCode, FleetError, Place } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import {
  type Layout,
  openLayout,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '#bundles/layout/layout';
import { verified } from '#bundles/layout/verified';
import { type Channel, formatChannel } from '#bundles/names';
import { VERSION } from '#bundles/version';
import { buildEnvironment, type EnvironmentBuild } from './build-environment.ts';
import type { BuiltBundle } from './bundle/build-bundle.ts';
import { listEnvironments } from './platform/list-environments.ts';
import { loadPlatform, type PlatformOptions, sourcesOf } from './platform/load-platform.ts';
import type { Platform } from './platform/model.ts';
import { publishRelease } from './publish/publish-release.ts';
import { type PublishedRelease, readRelease } from './publish/read-release.ts';
import { imageReference } from './publish/references.ts';
import type { KeyDirectory } from './sign/key-directory.ts';

export type BuildOptions = PlatformOptions & {
  /** Fleet name for Kalypso repositories. */
  readonly fleet?: string;
  /** All when left out. */
  readonly environments?: readonly string[];
  readonly keys: KeyDirectory;
  /** OCI layout that releases are added to. */
  readonly layout: string;
  /** OCI layout that holds the images manifests name. */
  readonly images?: string;
  /** OCI layout whose releases stand in for what is held. */
  readonly previous?: string;
  readonly workers?: number;
  readonly now: Date;
  readonly signal: AbortSignal;
};

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
};

export type BuildOutcome = {
  readonly channels: readonly ChannelOutcome[];
  readonly advice: readonly FleetError[];
};

/** Small fleets render faster than threads start. */
const ASSIGNMENTS_A_WORKER = 2_000;

/**
 * The scheduler's main verb: load → compose → schedule → render → bundle → sign → write, for all environments, in one
 * snapshot of every repository. A channel whose bundle did not change gets no new release.
 * @throws FleetError of loading; what is wrong with one assignment is in `held` instead
 */
export const build = async (options: BuildOptions): Promise<BuildOutcome> => {
  const sources = sourcesOf(options);
  const environments = options.environments ?? (await listEnvironments({ ...options, sources }));
  const previous = options.previous === undefined ? undefined : await openLayout(options.previous);
  const imageLayout = options.images === undefined ? undefined : (await openLayout(options.images)).blobs;
  const channels: ChannelOutcome[] = [];
  const advice: FleetError[] = [];
  for (const environment of environments) {
    options.signal.throwIfAborted();
    const platform = await loadPlatform({
      ...options,
      sources,
      environment,
      fleet: fleetOf(options),
      holdWorkloads: true,
    });
    const built = await buildEnvironment(
      {
        platform,
        sources,
        images: imageLayout,
        previous: previous && { layout: previous, root: options.keys.root },
        workers: options.workers ?? defaultWorkers(platform.targets.length * platform.clusterTypes.length),
      },
      options.signal,
    );
    channels.push(...(await publishEnvironment(built, imageLayout, options)));
    advice.push(...built.advice, ...(platform.heldWorkloads ?? []).flatMap(({ errors }) => errors));
  }
  return { channels, advice };
};

/** Our own form names its fleet; Kalypso's takes the name of the root that signs. */
const fleetOf = (options: BuildOptions): string => options.fleet ?? options.keys.root.fleet;

const defaultWorkers = (pairs: number): number =>
  Math.max(1, Math.min(availableParallelism(), Math.floor(pairs / ASSIGNMENTS_A_WORKER)));

const publishEnvironment = async (
  built: EnvironmentBuild,
  images: BlobSource | undefined,
  options: BuildOptions,
): Promise<readonly ChannelOutcome[]> => {
  let layout = await openOrStartLayout(options.layout);
  const outcomes: ChannelOutcome[] = [];
  for (const bundle of built.bundles) {
    const channel = { environment: built.platform.environment, clusterType: bundle.clusterType.name };
    const previous = await readRelease(layout, channel, options.keys.root);
    const outcome = await judge(layout, bundle, previous, built.platform);
    if (outcome === 'released') {
      const tagged = await copyImages(layout, channel, bundle, images);
      const { manifests } = await publishRelease({ ...layout, manifests: tagged }, options.keys, {
        channel,
        bundle: bundle.bundle,
        candidate: built.candidate,
        statement: {
          sources: built.sources,
          held: bundle.held.map(toHeldLine),
          builder: `fleet-scheduler/${VERSION}`,
        },
        previous,
        revocations: { fleet: options.keys.root.fleet, ...channel, revoked: [] },
        now: options.now,
      });
      layout = { ...layout, manifests };
    }
    outcomes.push(describe(channel, bundle, outcome, previous));
  }
  // Last and once: no reader finds a pointer before what it points to.
  await writeLayoutIndex(layout, layout.manifests);
  return outcomes;
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

const describe = (
  channel: Channel,
  { bundle, held }: BuiltBundle,
  outcome: ChannelOutcome['outcome'],
  previous: PublishedRelease | undefined,
): ChannelOutcome => ({
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

/** Images go where the release is, each under a tag that keeps a registry from collecting it. */
const copyImages = async (
  layout: Layout,
  channel: Channel,
  { images }: BuiltBundle,
  source: BlobSource | undefined,
): Promise<readonly Descriptor[]> => {
  let { manifests } = layout;
  for (const { entry, blobs } of images) {
    if (!source) break;
    for (const { digest, size } of blobs.toReversed()) {
      await layout.blobs.write(digest, size, verified(digest, size, await source.open(digest), source.name));
    }
    const { digest, size, mediaType } = entry;
    manifests = withReference(manifests, imageReference(channel, digest), { digest, size, mediaType });
  }
  return manifests;
};

/** 'prod/kiosk': for a line of the summary. */
export const channelOf = (outcome: ChannelOutcome): string => formatChannel(outcome);
