import type { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { openDestination } from '../../deliver/send/open-destination.ts';
import { fenceDestination } from '../watch/fence-destination.ts';
import type { PublishSites } from './mirror-sites.ts';

/** @param confirm see fenceDestination @returns undefined if no registry is configured: sites then get their statements by medium, or with the enrolment */
export const sitePublisher = (
  configuration: Configuration,
  clock: () => Date,
  env: NodeJS.ProcessEnv,
  confirm?: () => Promise<void>,
): PublishSites | undefined => {
  const { registry } = configuration;
  if (registry === undefined) return undefined;
  return async (sites, signal) => {
    const layout = await openLayout(requireSetting(configuration, 'layout'));
    const access = registryOptions({ ...configuration, env });
    await using destination = fenceDestination(await openDestination(registry, access, clock()), confirm);
    const outcomes = await publishLayout(layout, destination, {
      selection: { sites },
      now: clock(),
      signal,
    });
    const failures = new Map<string, FleetError>();
    for (const { repository, error } of outcomes)
      if (error) failures.set(repository.replace(/^sites\//, ''), error);
    return failures;
  };
};
