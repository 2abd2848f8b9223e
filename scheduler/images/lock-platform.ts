import { resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { environmentsOf } from '../platform/list-environments.ts';
import type { PlatformOptions } from '../platform/load-options.ts';
import { findRoot, loadPlatform, sourcesOf } from '../platform/load-platform.ts';
import type { Platform } from '../platform/model.ts';
import { eachOnce, newProblems, problemsOf, throwProblems } from '../platform/problems.ts';
import { collectReferences, fullReference } from './collect-references.ts';
import type { ImagePlaces } from './image-places.ts';
import { updateLockFile } from './lock-file.ts';
import { type LockedImage, lockImages } from './lock-images.ts';

export type LockOptions = PlatformOptions & {
  readonly environments?: readonly string[];
  readonly fleet?: string;
  readonly places: ImagePlaces;
  /** Looked up again although they are locked: 'all', or these, as manifests write them. */
  readonly update: 'all' | readonly string[];
  readonly signal: AbortSignal;
};

export type PlatformLock = {
  /** undefined: nothing changed. */
  readonly file: string | undefined;
  readonly images: readonly LockedImage[];
  /** Entries that no manifest needs. Only told where everything could be read. */
  readonly unused: readonly string[];
  /** Images that were not found. */
  readonly missing: readonly FleetError[];
  /** What could not be read, so that its images are not known. */
  readonly unread: readonly FleetError[];
};

/**
 * Locks every tag of a platform to a digest, in images.lock.yaml beside it. What was found is written even where something
 * else was not. @throws FleetError USAGE for a platform that is no directory, or a name that no manifest has
 */
export const lockPlatform = async (options: LockOptions): Promise<PlatformLock> => {
  const sources = options.sources ?? sourcesOf(options);
  const problems = newProblems();
  const root = await findRoot(options.platform, sources, problems);
  throwProblems(problems.found, 'the platform');
  if (root.location.kind !== 'directory') {
    throw new FleetError('USAGE', 'the lock file is written beside the platform, and this one is a Git URL', {
      hint: 'Clone it, give the directory, and commit what was written',
    });
  }
  const unread: FleetError[] = [];
  const platforms: Platform[] = [];
  for (const environment of options.environments ?? environmentsOf(root)) {
    try {
      const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
      unread.push(...(platform.heldWorkloads ?? []).flatMap(({ errors }) => errors));
      platforms.push(platform);
    } catch (error) {
      const found = problemsOf(error);
      if (found.some(({ code }) => code === 'INTERNAL' || code === 'ABORTED')) throw toFleetError(error);
      unread.push(...found);
    }
  }
  const { references, problems: more } = await collectReferences(platforms, sources, options.signal);
  unread.push(...more);
  const renew = renewOf(
    options.update,
    references.map(({ image }) => image),
  );
  const { locked, problems: missing } = await lockImages(
    references,
    root.imageLocks,
    options.places,
    renew,
    options.signal,
  );
  const used = new Set(references.map(({ image }) => fullReference(image)));
  const complete = options.environments === undefined && unread.length === 0;
  return {
    file: await updateLockFile(resolve(root.location.directory), locked),
    images: locked,
    unused: complete ? [...root.imageLocks.keys()].filter((key) => !used.has(fullReference(key))) : [],
    missing,
    unread: eachOnce(unread),
  };
};

/** @throws FleetError USAGE for a slip of the pen: nothing would be updated, and nobody would know */
const renewOf = (
  update: LockOptions['update'],
  images: readonly string[],
): ((reference: string) => boolean) => {
  if (update === 'all') return () => true;
  const known = new Set(images.map(fullReference));
  const wanted = new Set(update.map(fullReference));
  const foreign = update.find((image) => !known.has(fullReference(image)));
  if (foreign !== undefined) {
    throw new FleetError('USAGE', `no manifest runs ${foreign}`, {
      hint:
        images.length > 0
          ? `There are ${images.slice(0, 5).join(', ')}`
          : 'No manifest names an image by tag',
    });
  }
  return (reference) => wanted.has(reference);
};
