import { type FleetError, toFleetError } from '#bundles/errors';
import type { PlatformOptions } from './load-options.ts';
import { loadPlatform } from './load-platform.ts';
import type { Platform } from './model.ts';
import { problemsOf } from './problems.ts';

export type LoadedEnvironments = {
  readonly platforms: readonly Platform[];
  /** Why the others could not be read. */
  readonly unread: readonly FleetError[];
};

/** A platform in each of these environments; one that cannot be read takes nothing from the others. */
export const loadEnvironments = async (
  options: Omit<PlatformOptions, 'environment'>,
  environments: readonly string[],
): Promise<LoadedEnvironments> => {
  const platforms: Platform[] = [];
  const unread: FleetError[] = [];
  for (const environment of environments) {
    try {
      platforms.push(await loadPlatform({ ...options, environment, holdWorkloads: true }));
    } catch (error) {
      const found = problemsOf(error);
      if (found.some(({ code }) => code === 'INTERNAL' || code === 'ABORTED')) throw toFleetError(error);
      unread.push(...found);
    }
  }
  return { platforms, unread };
};
