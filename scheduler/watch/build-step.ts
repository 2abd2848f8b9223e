import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetError, toFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { openRegistry } from '#bundles/registry/open-registry';
import { registryOptions } from '#bundles/registry/registry-access';
import { build, type EnvironmentOutcome } from '../build.ts';
import { cachedCharts } from '../charts/chart-cache.ts';
import { openChartPlaces } from '../charts/chart-places.ts';
import { openCharts } from '../charts/charts.ts';
import { contentCache, openContents } from '../content/contents.ts';
import { openContentPlaces } from '../content/download.ts';
import { platformOptions } from '../commands/platform-options.ts';
import { requireSetting } from '../configuration.ts';
import { openImageRegistries } from '../images/image-places.ts';
import type { BuildMemory } from '../incremental/build-memory.ts';
import { sourcesOf } from '../platform/load-platform.ts';
import type { ChannelOutcome } from '../publish-environment.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';
import { describeRemovals } from '../removals/removal.ts';
import { faultFields } from './fault-fields.ts';
import { heldEntries } from './held-entries.ts';
import { recordSources } from './record-sources.ts';
import type { WatchOptions } from './watch-options.ts';
import type { Watched } from './watched.ts';

export type Built = {
  /** What was read, also by a build that failed. */
  readonly watched: readonly Watched[];
  readonly seconds: number;
  /** Held assignments and applications by environment; of those that were built. */
  readonly held: Readonly<Record<string, number>>;
  /** Channels that wait because their release would remove too much, likewise. */
  readonly waiting: Readonly<Record<string, number>>;
  /** Why all or some of it was not built. */
  readonly failure: FleetError | undefined;
};

/**
 * One build as `fleet-scheduler build` does it, the layout's own last packages standing in for what is held. Never throws
 * for what a build may meet: what was read before is worth knowing.
 * @param memory what the builds before found, so that only what an edit touches is made again
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
  // One that is down today is read as it was; the look at it says that it is down.
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
    log.info(summarise(outcome), 'built');
    for (const entry of heldEntries(outcome)) log.warn(entry, 'held');
    for (const channel of outcome.channels) {
      const name = formatChannel(channel);
      if (channel.waits)
        log.warn({ channel: name, ...removed(channel), ...faultFields(channel.waits) }, 'not released');
      else if (channel.removals.length > 0)
        log.info({ channel: name, ...removed(channel) }, 'removes packages');
      if (channel.fault) log.error({ channel: name, ...faultFields(channel.fault) }, 'release not renewed');
      if (channel.leaseVoid) log.warn({ channel: name, ...faultFields(channel.leaseVoid) }, 'lease void');
    }
  };
  let failure: FleetError | undefined;
  try {
    const layout = requireSetting(configuration, 'layout');
    const access = registryOptions({ ...configuration, env });
    await using registries = openImageRegistries(access, openRegistry);
    await using charts = openChartPlaces(registries, access);
    await using files = openContentPlaces(platform.cacheDirectory, access);
    const outcome = await build({
      ...platform,
      charts: openCharts(cachedCharts(platform.cacheDirectory, charts.fetch)),
      contents: openContents(contentCache(platform.cacheDirectory), files.fetch),
      sources,
      keys: await openKeyDirectory(requireSetting(configuration, 'keys')),
      layout,
      ...(configuration.environments && { environments: configuration.environments }),
      ...(configuration.images !== undefined && { images: configuration.images }),
      ...(existsSync(join(layout, 'oci-layout')) && { previous: layout }),
      ...(configuration.pullImages && {
        pull: (name: string) => registries.repository(name),
      }),
      allowRemovals: configuration.allowRemovals,
      memory,
      now: started,
      signal,
      onEnvironment: tell,
    });
    failure = outcome.environments.flatMap(({ problems }) => problems)[0];
  } catch (error) {
    failure = toFleetError(error, 'building');
  }
  return {
    watched: sources.watched(),
    seconds: (clock().getTime() - started.getTime()) / 1000,
    held,
    waiting,
    failure,
  };
};

const countHeld = ({ channels, heldWorkloads }: EnvironmentOutcome): number =>
  heldWorkloads.length + channels.reduce((sum, channel) => sum + channel.held.length, 0);

const summarise = (outcome: EnvironmentOutcome): object => {
  const { environment, channels } = outcome;
  const which = (wanted: ChannelOutcome['outcome']): readonly ChannelOutcome[] =>
    channels.filter((channel) => channel.outcome === wanted);
  const blocked = which('blocked').map(formatChannel);
  const awaiting = which('awaiting').map(formatChannel);
  return {
    environment,
    released: which('released').map(withNumber),
    ...(which('renewed').length > 0 && { renewed: which('renewed').map(withNumber) }),
    unchanged: which('unchanged').length,
    held: countHeld(outcome),
    ...(blocked.length > 0 && { blocked }),
    ...(awaiting.length > 0 && { awaiting }),
    ...(which('removals-held').length > 0 && { removalsHeld: which('removals-held').map(formatChannel) }),
    ...(which('revoked').length > 0 && { revoked: which('revoked').map(formatChannel) }),
  };
};

/** Every package by name: what is deleted at sites is not summed up. */
const removed = ({ removals, clusterType }: ChannelOutcome): object => ({
  removes: describeRemovals(removals, clusterType),
});

const withNumber = (channel: ChannelOutcome): string => `${formatChannel(channel)} ${channel.version}`;
