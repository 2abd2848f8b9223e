import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type FleetError, toFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { openRegistry } from '#bundles/registry/open-registry';
import { registryOptions } from '#bundles/registry/registry-access';
import { build, type EnvironmentOutcome } from '../build.ts';
import { platformOptions } from '../commands/platform-options.ts';
import { requireSetting } from '../configuration.ts';
import { openImageRegistries } from '../images/image-places.ts';
import { sourcesOf } from '../platform/load-platform.ts';
import type { ChannelOutcome } from '../publish/publish-environment.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';
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
  /** Why all or some of it was not built. */
  readonly failure: FleetError | undefined;
};

/**
 * One build as `fleet-scheduler build` does it, the layout's own last packages standing in for what is held. Never throws
 * for what a build may meet: what was read before is worth knowing.
 */
export const buildStep = async (options: WatchOptions, signal: AbortSignal): Promise<Built> => {
  const { configuration, env, cwd, clock, log } = options;
  const started = clock();
  const held: Record<string, number> = {};
  const platform = platformOptions(configuration, { cwd, env, signal });
  const sources = recordSources(sourcesOf(platform));
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
    log.info(summarise(outcome), 'built');
    for (const entry of heldEntries(outcome)) log.warn(entry, 'held');
  };
  let failure: FleetError | undefined;
  try {
    const layout = requireSetting(configuration, 'layout');
    await using registries = openImageRegistries(registryOptions({ ...configuration, env }), openRegistry);
    const outcome = await build({
      ...platform,
      sources,
      keys: await openKeyDirectory(requireSetting(configuration, 'keys')),
      layout,
      ...(configuration.environments && { environments: configuration.environments }),
      ...(configuration.images !== undefined && { images: configuration.images }),
      ...(existsSync(join(layout, 'oci-layout')) && { previous: layout }),
      ...(configuration.pullImages && {
        pull: (name: string) => registries.repository(name).blobs,
      }),
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
  return {
    environment,
    released: which('released').map((channel) => `${formatChannel(channel)} ${channel.version}`),
    unchanged: which('unchanged').length,
    held: countHeld(outcome),
    ...(blocked.length > 0 && { blocked }),
  };
};
