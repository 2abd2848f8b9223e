import { isDeepStrictEqual } from 'node:util';
import type { Application } from '../../load/applications/application.ts';
import type { BuiltBundle, BundleInput } from '../bundle/build-bundle.ts';
import type { EnvironmentMemory, KeptBundle } from './build-memory.ts';

/**
 * The bundle of before, where everything it was made from is the same. One with something held is made anew, for what stands
 * in for it lies outside of the platform; images do too, and are looked for again.
 */
export const reuseBundle = async (
  memory: EnvironmentMemory,
  input: BundleInput,
): Promise<BuiltBundle | undefined> => {
  const known = memory.bundles.get(input.clusterType.name);
  if (!known || known.built.clusterType !== input.clusterType || !isWhole(input, known.built))
    return undefined;
  const same =
    known.packages.length === input.packages.length &&
    known.judgedFor === input.judge?.target &&
    input.packages.every((one, at) => one === known.packages[at]) &&
    applicationsOf(input)?.every((one, at) => one === known.applications[at]) === true;
  const images = same ? await imagesOf(known.built, input) : undefined;
  return images && { ...known.built, images, previous: input.lastGood.bundle };
};

export const keepBundle = (memory: EnvironmentMemory, input: BundleInput, built: BuiltBundle): void => {
  const applications = applicationsOf(input);
  if (!applications || !isWhole(input, built)) return;
  const kept: KeptBundle = {
    built,
    packages: input.packages,
    applications,
    judgedFor: input.judge?.target,
  };
  memory.bundles.set(input.clusterType.name, kept);
};

const isWhole = ({ platform, held, rolledBack }: BundleInput, built: BuiltBundle): boolean =>
  held.length + rolledBack.size === 0 &&
  built.held.length === 0 &&
  (platform.heldWorkloads ?? []).length === 0;

/** The images as they are found now; undefined where one is gone or is another. */
const imagesOf = async (
  { images }: BuiltBundle,
  { resolve }: BundleInput,
): Promise<BuiltBundle['images'] | undefined> => {
  if (images.length === 0 || !resolve) return images;
  try {
    const named = images.filter(({ entry }) => entry.names !== undefined);
    const found = await Promise.all(named.map(({ entry }) => resolve(entry.names ?? [])));
    // Signatures come with what they vouch for, the same one perhaps with several.
    const now = new Map(found.flat().map((image) => [image.entry.digest, image]));
    return now.size === images.length &&
      images.every(({ entry }) => isDeepStrictEqual(now.get(entry.digest)?.entry, entry))
      ? [...now.values()]
      : undefined;
  } catch {
    // Built anew, the error names the package.
    return undefined;
  }
};

/** undefined when one of them cannot be read. */
const applicationsOf = ({
  packages,
  applicationOf,
}: BundleInput): readonly (Application | undefined)[] | undefined => {
  try {
    return packages.map(applicationOf);
  } catch {
    return undefined;
  }
};
