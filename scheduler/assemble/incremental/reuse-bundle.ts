import { isDeepStrictEqual } from 'node:util';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Application } from '../../load/applications/application.ts';
import type { BundleInput } from '../bundle/bundle-input.ts';
import type { BuiltBundle } from '../bundle/built-bundle.ts';
import { inputsOfReaders } from '../bundle/refuse-readers.ts';
import type { EnvironmentMemory, KeptBundle } from './build-memory.ts';

/**
 * Returns the previous bundle if all its inputs are the same; otherwise undefined. A bundle with held assignments is always
 * rebuilt, because their substitutes are outside of the platform. Images are outside, too, and are resolved again.
 */
export const reuseBundle = async (
  memory: EnvironmentMemory,
  input: BundleInput,
): Promise<BuiltBundle | undefined> => {
  const known = memory.bundles.get(input.clusterType.name);
  if (!known || known.built.clusterType !== input.clusterType) return undefined;
  if (!isWhole(input) || known.built.held.length > 0) return undefined;
  const same =
    known.packages.length === input.packages.length &&
    known.judgedFor === input.judge?.target &&
    isDeepStrictEqual(known.readers, inputsOfReaders(input)) &&
    input.packages.every((one, at) => one === known.packages[at]) &&
    applicationsOf(input)?.every((one, at) => one === known.applications[at]) === true;
  if (!same || !(await hasContents(known.built))) return undefined;
  const { images: before } = known.built;
  const entries = before.map(({ entry }) => entry);
  const images = input.resolve ? await imagesNow(entries, input) : before;
  return images && { ...known.built, images, previous: input.lastGood.bundle };
};

export const keepBundle = (memory: EnvironmentMemory, input: BundleInput, built: BuiltBundle): void => {
  const applications = applicationsOf(input);
  if (!applications || !isWhole(input) || built.held.length > 0) return;
  const kept: KeptBundle = {
    built,
    packages: input.packages,
    applications,
    judgedFor: input.judge?.target,
    readers: inputsOfReaders(input),
  };
  memory.bundles.set(input.clusterType.name, kept);
};

/** Whether no assignment is held before its bundle is built. */
export const isWhole = ({ platform, held, rolledBack }: BundleInput): boolean =>
  held.length + rolledBack.size === 0 && (platform.heldWorkloads ?? []).length === 0;

/** Whether the files of hosts are still where they were read. In the cache, that they are asked for keeps them there (contentCache). */
const hasContents = async ({ contents }: BuiltBundle): Promise<boolean> => {
  for (const { blobs, source } of contents)
    for (const { digest, size } of blobs) if ((await source.size(digest)) !== size) return false;
  return true;
};

/** The images as resolved now; undefined if one is missing or differs. */
export const imagesNow = async (
  images: readonly ClosureEntry[],
  { resolve, clusterType }: Pick<BundleInput, 'resolve' | 'clusterType'>,
): Promise<BuiltBundle['images'] | undefined> => {
  if (images.length === 0 || !resolve) return [];
  try {
    const named = images.filter(({ names }) => names !== undefined);
    const found = await Promise.all(named.map(({ names = [] }) => resolve(names, clusterType.platforms)));
    // Signatures are listed with their images, possibly the same one with several.
    const now = new Map(found.flat().map((image) => [image.entry.digest, image]));
    return now.size === images.length &&
      images.every((entry) => isDeepStrictEqual(now.get(entry.digest)?.entry, entry))
      ? [...now.values()]
      : undefined;
  } catch {
    // Built anew, the error names the package.
    return undefined;
  }
};

/** @returns undefined if an application cannot be read: its error holds the package, and is reported when the bundle is built */
export const applicationsOf = ({
  packages,
  applicationOf,
}: BundleInput): readonly (Application | undefined)[] | undefined => {
  try {
    return packages.map(applicationOf);
  } catch {
    return undefined;
  }
};
