import type { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { openDestination } from '../../deliver/send/open-destination.ts';
import type { PublishSites } from './mirror-sites.ts';

/** @returns undefined if no registry is configured: sites then get their statements by medium, or with the enrolment */
export const sitePublisher = (
  configuration: Configuration,
  clock: () => Date,
  env: NodeJS.ProcessEnv,
): PublishSites | undefined => {
  const { registry } = configuration;
  if (registry === undefined) return undefined;
  return async (sites, signal) => {
    const layout = await openLayout(requireSetting(configuration, 'layout'));
    await using destination = await openDestination(
      registry,
      registryOptions({ ...configuration, env }),
      clock(),
    );
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
