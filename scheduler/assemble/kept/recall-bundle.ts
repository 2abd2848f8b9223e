import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BundleConfig, ClosureEntry } from '#bundles/formats/bundle/config';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import type { BundleInput } from '../bundle/bundle-input.ts';
import type { BuiltBundle } from '../bundle/built-bundle.ts';
import type { PackedBlob } from '../bundle/pack-bundle.ts';
import type { PreparedObject } from '../bundle/prepared-manifest.ts';
import { imagesNow, isWhole } from '../incremental/reuse-bundle.ts';
import type { KeptBundles } from './kept-bundles.ts';
import type { KeptManifests } from './kept-manifests.ts';
import type { KeptRenderings } from './kept-renderings.ts';
import { fromPlainError, type PlainError, toPlainError } from './plain-error.ts';

/** Kept results, and the layout that has the blobs of bundles that were released. */
export type KeptPlaces = {
  readonly bundles: KeptBundles;
  readonly renderings: KeptRenderings;
  readonly manifests: KeptManifests;
  readonly blobs: BlobSource;
};

/** A built bundle as it is kept: its bytes are in the layout, by their digests. */
type Kept = {
  readonly manifest: Descriptor;
  /** Config and layers. */
  readonly blobs: readonly Descriptor[];
  readonly images: readonly ClosureEntry[];
  readonly unknown: readonly PreparedObject[];
  readonly suspects: readonly PlainError[];
  readonly plainSecrets: readonly PreparedObject[];
  readonly emptyFiles: readonly (readonly [string, readonly string[]])[];
};

/**
 * Returns the bundle that an earlier run built from the same inputs, if its blobs are in the layout whole and its images are as they were.
 * A bundle with held assignments is always built, because their substitutes are outside of the platform; one with files from
 * elsewhere, too.
 */
export const recallBundle = async (
  { bundles, blobs }: KeptPlaces,
  input: BundleInput,
  inputs: Digest,
): Promise<BuiltBundle | undefined> => {
  const kept = (await bundles.find(channelOf(input), inputs)) as Kept | undefined;
  if (!kept) return undefined;
  const images = await imagesNow(kept.images, input);
  const read = images && (await readBlobs(blobs, [...kept.blobs, kept.manifest]));
  const [config] = read ?? [];
  const manifest = read?.at(-1);
  if (!read || !config || !manifest) return undefined;
  const { clusterType, lastGood } = input;
  return {
    clusterType,
    bundle: {
      kind: clusterType.target,
      digest: manifest.descriptor.digest,
      // Its digest was taken of bytes that were read back.
      config: JSON.parse(config.bytes.toString('utf8')) as BundleConfig,
      manifest,
      blobs: read.slice(0, -1),
    },
    images,
    contents: [],
    fetched: [],
    held: [],
    previous: lastGood.bundle,
    unknown: kept.unknown,
    suspects: kept.suspects.map(fromPlainError),
    plainSecrets: kept.plainSecrets,
    emptyFiles: new Map(kept.emptyFiles),
  };
};

/** Keeps a bundle whose input `canRecall`, unless it has held assignments or files from elsewhere. */
export const rememberBundle = async (
  { bundles }: KeptPlaces,
  input: BundleInput,
  inputs: Digest,
  built: BuiltBundle,
): Promise<void> => {
  if (built.held.length + built.contents.length + built.fetched.length > 0) return;
  const { bundle, images, unknown, suspects, plainSecrets, emptyFiles } = built;
  const kept: Kept = {
    manifest: bundle.manifest.descriptor,
    blobs: bundle.blobs.map(({ descriptor }) => descriptor),
    images: images.map(({ entry }) => entry),
    unknown: unknown.map(toPlain),
    suspects: suspects.map(toPlainError),
    plainSecrets: plainSecrets.map(toPlain),
    emptyFiles: [...emptyFiles],
  };
  await bundles.keep(channelOf(input), inputs, kept);
};

const toPlain = ({ apiVersion, kind, name, namespace, at }: PreparedObject): PreparedObject => ({
  apiVersion,
  kind,
  name,
  namespace,
  at,
});

/** Whether nothing outside of the platform takes the place of a package. */
export const canRecall = (input: BundleInput): boolean => isWhole(input) && !input.holds;

/** @returns undefined if a blob is missing or damaged */
const readBlobs = async (
  source: BlobSource,
  descriptors: readonly Descriptor[],
): Promise<readonly PackedBlob[] | undefined> => {
  const read: PackedBlob[] = [];
  try {
    for (const descriptor of descriptors)
      read.push({ descriptor, bytes: await readBlob(source, descriptor.digest, descriptor.size) });
    return read;
  } catch (error) {
    if (!isFleetError(error)) throw error;
    return undefined;
  }
};

const channelOf = ({ platform: { environment }, clusterType }: BundleInput) => ({
  environment,
  clusterType: clusterType.name,
});
