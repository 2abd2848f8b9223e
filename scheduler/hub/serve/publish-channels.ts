import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { promotedOnly } from '../../deliver/send/check-published.ts';
import { openDestination } from '../../deliver/send/open-destination.ts';
import { fenceDestination } from '../watch/fence-destination.ts';
import type { PublishChannels } from './keep-current.ts';

/** @param confirm see fenceDestination @returns undefined if no registry is configured: renewed releases and leases then reach sites by medium */
export const channelPublisher = (
  configuration: Configuration,
  clock: () => Date,
  env: NodeJS.ProcessEnv,
  confirm?: () => Promise<void>,
): PublishChannels | undefined => {
  const { registry } = configuration;
  if (registry === undefined) return undefined;
  return async (channels, signal) => {
    const layout = await openLayout(requireSetting(configuration, 'layout'));
    const now = clock();
    const access = registryOptions({ ...configuration, env });
    await using destination = fenceDestination(await openDestination(registry, access, now), confirm);
    const outcomes = await publishLayout(layout, destination, {
      selection: { channels },
      checkRelease: promotedOnly(layout),
      now,
      signal,
    });
    const failed = outcomes.find(({ error }) => error)?.error;
    if (failed) throw failed;
  };
};
