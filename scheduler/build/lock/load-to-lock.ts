import { resolve } from 'node:path';
import type { FleetError } from '#bundles/errors';
import { environmentsOf } from '../../load/list-environments.ts';
import { loadEnvironments } from '../../load/load-environments.ts';
import { readRoot, type Root, sourcesOf } from '../../load/load-platform.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Platform } from '../../model/model.ts';

/** The options of `images lock`. */
export type LockRequest = PlatformOptions & {
  readonly environments?: readonly string[];
  readonly fleet?: string;
  /** Locked entries to look up again: 'all', or names as manifests and packages write them. */
  readonly update: 'all' | readonly string[];
  readonly signal: AbortSignal;
};

/** The environments of a platform, and the folder that images.lock.yaml is written into. */
export type LoadedToLock = {
  readonly sources: Sources;
  readonly root: Root;
  readonly directory: string;
  readonly platforms: readonly Platform[];
  /** Why the other environments could not be read. */
  readonly unread: readonly FleetError[];
  /** All environments were asked for, so that an entry which none of them names is unused. */
  readonly isWhole: boolean;
};

/** Loads the environments to lock; undefined for a platform by Git URL, which has no place for a lock file. */
export const loadToLock = async (options: LockRequest): Promise<LoadedToLock | undefined> => {
  const sources = options.sources ?? sourcesOf(options);
  const root = await readRoot(options.platform, sources);
  if (root.location.kind !== 'directory') return undefined;
  const environments = options.environments ?? environmentsOf(root);
  return {
    sources,
    root,
    directory: resolve(root.location.directory),
    ...(await loadEnvironments({ ...options, sources }, environments)),
    isWhole: options.environments === undefined,
  };
};
