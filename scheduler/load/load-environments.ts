import { type FleetError, toFleetError } from '#bundles/errors';
import type { PlatformOptions } from './platform/load-options.ts';
import { loadPlatform } from './load-platform.ts';
import type { Platform } from '../model/model.ts';
import { problemsOf } from '../model/problems.ts';

export type LoadedEnvironments = {
  readonly platforms: readonly Platform[];
  /** Why the other environments could not be read. */
  readonly unread: readonly FleetError[];
};

/**
 * Loads the platform for each environment; an error in one does not affect the others.
 * @throws FleetError INTERNAL, ABORTED
 */
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
