import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { type FleetError, toFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { build } from '../../build/build.ts';
import type { EnvironmentOutcome } from '../../build/build-outcome.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { pruneCache } from '../../load/sources/prune-cache.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';
import type { BuildMemory } from '../../assemble/incremental/build-memory.ts';
import { sourcesOf } from '../../load/load-platform.ts';
import type { ChannelOutcome } from '../../build/channel-outcome.ts';
import { withBuildInputs } from '../../build/load/with-build-inputs.ts';
import { describeRemovals, type Removal } from '../../release/removals/removal.ts';
import { readPromotion } from '../promote/facts/link.ts';
import { faultFields } from './fault-fields.ts';
import { heldEntries } from './held-entries.ts';
import type { WatchOptions } from './watch-options.ts';
import { type Watched, keyOf } from './watched.ts';
import type { Sources } from '../../load/sources/open-sources.ts';

export type Built = {
  /** The sources that the build read, even if it failed. */
  readonly watched: readonly Watched[];
  readonly seconds: number;
  /** Number of held assignments and applications, by environment that was built. */
  readonly held: Readonly<Record<string, number>>;
  /** Number of channels whose release would remove packages that were not deleted, by environment. */
  readonly waiting: Readonly<Record<string, number>>;
  /** The first error, if any environment was not built. */
  readonly failure: FleetError | undefined;
};

/**
 * Runs one build as `fleet-scheduler build` does, with the layout's own releases as the source of last good packages. Returns
 * errors in `failure` instead of throwing, because the loop needs `watched` in either case.
 * @param memory results of earlier builds, so that only changed parts are built again
 */
export const buildStep = async (
  options: WatchOptions,
  memory: BuildMemory,
  signal: AbortSignal,
): Promise<Built> => {
  const { configuration, env, cwd, clock, log } = options;
  const started = clock();
  const held: Record<string, number> = {};
  const waiting: Record<string, number> = {};
  const platform = platformOptions(configuration, { cwd, env, signal });
  // A source that is unreachable is read from the cache; the look step reports that it is unreachable.
  const sources = recordSources(sourcesOf({ ...platform, staleOk: true, files: memory.files }));
  const tell = (outcome: EnvironmentOutcome): void => {
    if (outcome.problems.length > 0) {
      const [first] = outcome.problems;
      log.error(
        {
          environment: outcome.environment,
          problems: outcome.problems.length,
          ...(first && faultFields(first)),
        },
        'not built',
      );
      return;
    }
    held[outcome.environment] = countHeld(outcome);
    waiting[outcome.environment] = outcome.channels.filter(({ waits }) => waits).length;
    if (outcome.waits)
      log[outcome.promoted ? 'warn' : 'info'](
        { ...summarise(outcome), ...faultFields(outcome.waits) },
        outcome.promoted ? 'promoted candidate not built' : 'waiting for promotion',
      );
    else log.info(summarise(outcome), 'built');
    for (const entry of heldEntries(outcome)) log.warn(entry, 'held');
    for (const channel of outcome.channels) {
      const name = formatChannel(channel);
      if (channel.waits)
        log.warn(
          { channel: name, ...removes(channel.unmeant, channel), ...faultFields(channel.waits) },
          'not released',
        );
      if (channel.removals.length > 0 && channel.outcome !== 'removals-held')
        log.info({ channel: name, ...removes(channel.removals, channel) }, 'removes packages');
      if (channel.unread)
        log.error({ channel: name, ...faultFields(channel.unread) }, 'the last release cannot be read');
      if (channel.fault) log.error({ channel: name, ...faultFields(channel.fault) }, 'release not renewed');
      if (channel.leaseVoid) log.warn({ channel: name, ...faultFields(channel.leaseVoid) }, 'lease void');
    }
  };
  let failure: FleetError | undefined;
  try {
    await options.confirm?.();
    const outcome = await withBuildInputs(configuration, { env, cwd, signal }, (inputs) =>
      build({
        ...inputs,
        sources,
        ...defined({
          environments: configuration.environments,
          previous: existsSync(join(inputs.layout, 'oci-layout')) ? inputs.layout : undefined,
        }),
        allowRemovals: configuration.allowRemovals,
        memory,
        now: started,
        onEnvironment: tell,
      }),
    );
    for (const one of outcome.abandoned) log.warn(faultFields(one), 'channel not built any more');
    failure = outcome.environments.flatMap(({ problems }) => problems)[0];
    await pruneCache(platform.cacheDirectory, clock());
  } catch (error) {
    failure = toFleetError(error, 'building');
  }
  await keepPolicies(options, { ...platform, sources });
  return {
    watched: sources.watched(),
    seconds: (clock().getTime() - started.getTime()) / 1000,
    held,
    waiting,
    failure,
  };
};

/** If policies cannot be read, the previous ones stay in force. Their errors do not stop a build. */
const keepPolicies = async (
  { keepPolicies: keep, log }: WatchOptions,
  platform: PlatformOptions,
): Promise<void> => {
  if (!keep) return;
  try {
    await keep(await readPromotion(platform, platform.sources));
  } catch (error) {
    if (platform.signal?.aborted) return;
    log.warn(faultFields(toFleetError(error, 'reading the policies in promotion/')), 'policies not read');
  }
};

const countHeld = ({ channels, heldWorkloads }: EnvironmentOutcome): number =>
  heldWorkloads.length + channels.reduce((sum, channel) => sum + channel.held.length, 0);

const summarise = (outcome: EnvironmentOutcome): object => {
  const { environment, channels } = outcome;
  const which = (wanted: ChannelOutcome['outcome']): readonly ChannelOutcome[] =>
    channels.filter((channel) => channel.outcome === wanted);
  const blocked = which('blocked').map(formatChannel);
  const awaiting = which('awaiting').map(formatChannel);
  const waiting = channels.filter(({ waits }) => waits);
  const direct = channels.filter((channel) => channel.direct && channel.outcome !== 'direct-held');
  return defined({
    environment,
    released: which('released').map(withNumber),
    renewed: which('renewed').length > 0 ? which('renewed').map(withNumber) : undefined,
    unchanged: which('unchanged').length,
    held: countHeld(outcome),
    promotion: outcome.promoted?.number,
    direct: direct.length > 0 ? direct.map(formatChannel) : undefined,
    directHeld: which('direct-held').length > 0 ? which('direct-held').map(formatChannel) : undefined,
    blocked: blocked.length > 0 ? blocked : undefined,
    awaiting: awaiting.length > 0 ? awaiting : undefined,
    removalsHeld: waiting.length > 0 ? waiting.map(formatChannel) : undefined,
    takenBack: which('taken-back').length > 0 ? which('taken-back').map(formatChannel) : undefined,
    revoked: which('revoked').length > 0 ? which('revoked').map(formatChannel) : undefined,
  });
};

/** Lists every removed package by name: removals are never summarised. */
const removes = (removals: readonly Removal[], { clusterType }: ChannelOutcome): object => ({
  removes: describeRemovals(removals, clusterType),
});

const withNumber = (channel: ChannelOutcome): string => `${formatChannel(channel)} ${channel.version}`;

type RecordedSources = Sources & {
  /** Every source that was read, including failed attempts. */
  readonly watched: () => readonly Watched[];
};

/** Records which sources a build reads. The repositories of a platform are known only after reading it. */
const recordSources = (sources: Sources): RecordedSources => {
  const seen = new Map<string, Watched>();
  return {
    locate: sources.locate,
    ...defined({ remarks: sources.remarks }),
    read: async (request) => {
      const { location } = request;
      const key = keyOf(location);
      const known = seen.get(key);
      if (!known) seen.set(key, { location, mark: undefined });
      const source = await sources.read(request);
      seen.set(key, { location, mark: source.snapshot.commit });
      return source;
    },
    watched: () => [...seen.values()],
  };
};
