import { openLayout } from '#bundles/layout/layout';
import { publishLayout } from '#bundles/publish/publish-layout';
import { registryOptions } from '#bundles/registry/registry-access';
import { type Configuration, requireSetting } from '../configuration.ts';
import { openDestination } from '../publish/send/open-destination.ts';
import type { PublishChannels } from './keep-current.ts';

/** @returns undefined where no registry is configured: what is renewed then goes out by medium */
export const channelPublisher = (
  configuration: Configuration,
  clock: () => Date,
  env: NodeJS.ProcessEnv,
): PublishChannels | undefined => {
  const { registry } = configuration;
  if (registry === undefined) return undefined;
  return async (channels, signal) => {
    const layout = await openLayout(requireSetting(configuration, 'layout'));
    const now = clock();
    await using destination = await openDestination(
      registry,
      registryOptions({ ...configuration, env }),
      now,
    );
    const outcomes = await publishLayout(layout, destination, { selection: { channels }, now, signal });
    const failed = outcomes.find(({ error }) => error)?.error;
    if (failed) throw failed;
  };
};
