import {
  type Descriptor,
  isIndexType,
  isManifestType,
  MAX_MANIFEST_BYTES,
  type Manifest,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { parseStrictJson } from '#bundles/json/strict-json';
import { DOCKER_CONFIG, OCI_CONFIG } from '#bundles/media-types';

/** A runnable manifest of an index: its descriptor and its platform, like 'linux/arm/v7'. */
type Leaf = { readonly descriptor: Descriptor; readonly platform: string };

/** Maximum depth of nested indexes; in practice they are nested once at most. */
const MAX_DEPTH = 4;
const MAX_CONFIG_BYTES = 4 << 20;

/**
 * Chooses the digest of an image that a bundle names: for one platform the manifest of that platform, for several the unchanged
 * index if it has all of them, without platforms the target of the tag. Attestations and other entries without a platform are
 * skipped.
 * @param top target of the tag
 * @param wanted 'linux/amd64' ...
 * @param image for messages
 * @throws FleetError IMAGE_MISSING for a missing platform; LAYOUT_INVALID, DIGEST_MISMATCH ...
 */
export const chooseManifest = async (
  source: BlobSource,
  top: Descriptor,
  wanted: readonly string[],
  image: string,
  signal: AbortSignal,
): Promise<Digest> => {
  if (wanted.length === 0) return top.digest;
  if (!isManifestType(top.mediaType)) {
    throw new FleetError('IMAGE_MISSING', `${image} is not an image that a node runs, but ${top.mediaType}`, {
      hint: 'Push the image again with a current tool: this format is too old',
    });
  }
  const leaves = await runnablesOf(source, top, image, signal);
  if (leaves === 'artifact') return top.digest;
  const found = wanted.map((platform) => ({
    platform,
    leaf: runnableOn(platform)
      .map((one) => leaves.find((leaf) => leaf.platform === one))
      .find((leaf) => leaf !== undefined),
  }));
  const absent = found.find(({ leaf }) => leaf === undefined);
  if (absent) {
    const has = leaves.map(({ platform }) => platform).join(', ') || 'none';
    throw new FleetError('IMAGE_MISSING', `${image} is not there for ${absent.platform}, only for ${has}`, {
      hint: 'Build it for that platform too, or take the platform out of the cluster types that run it',
    });
  }
  const [first, ...more] = new Set(found.map(({ leaf }) => leaf?.descriptor.digest));
  return first !== undefined && more.length === 0 ? first : top.digest;
};

/** Whether a manifest is an index that names this one, at any depth. @throws FleetError LAYOUT_INVALID, DIGEST_MISMATCH ... */
export const indexHas = async (
  source: BlobSource,
  top: Descriptor,
  digest: string,
  signal: AbortSignal,
): Promise<boolean> =>
  isIndexType(top.mediaType) &&
  (await leavesOf(source, top, top.digest, signal)).some((leaf) => leaf.descriptor.digest === digest);

/** 'artifact': a manifest without an image config, as image volumes mount them, serves every platform. */
const runnablesOf = async (
  source: BlobSource,
  top: Descriptor,
  image: string,
  signal: AbortSignal,
): Promise<readonly Leaf[] | 'artifact'> => {
  if (isIndexType(top.mediaType)) return leavesOf(source, top, image, signal);
  const platform = await platformOf(source, top, image, signal);
  return platform === undefined ? 'artifact' : [{ descriptor: top, platform }];
};

const leavesOf = async (
  source: BlobSource,
  index: Descriptor,
  image: string,
  signal: AbortSignal,
  depth = 1,
): Promise<readonly Leaf[]> => {
  if (depth > MAX_DEPTH) throw new FleetError('LAYOUT_INVALID', `${image} has indexes nested too deep`);
  const parsed = parseManifest(await readBlob(source, index.digest, MAX_MANIFEST_BYTES, signal), image);
  if (!('manifests' in parsed))
    throw new FleetError('LAYOUT_INVALID', `${image} has the media type of an index and is not one`);
  const leaves: Leaf[] = [];
  for (const child of parsed.manifests) {
    if (isIndexType(child.mediaType))
      leaves.push(...(await leavesOf(source, child, image, signal, depth + 1)));
    else if (isManifestType(child.mediaType) && child.platform?.os !== 'unknown') {
      const platform = child.platform
        ? formatPlatform(child.platform)
        : await platformOf(source, child, image, signal);
      if (platform !== undefined) leaves.push({ descriptor: child, platform });
    }
  }
  return leaves;
};

type Platform = { readonly os?: unknown; readonly architecture?: unknown; readonly variant?: unknown };

const IMAGE_CONFIGS: readonly string[] = [OCI_CONFIG, DOCKER_CONFIG];

/** The config of a single manifest has its platform; the manifest does not. undefined: it is not an image config. */
const platformOf = async (
  source: BlobSource,
  { digest }: Descriptor,
  image: string,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const bytes = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
  const { config } = parseManifest(bytes, image) as Manifest;
  if (!IMAGE_CONFIGS.includes(config.mediaType)) return undefined;
  const json = parseStrictJson(
    await readBlob(source, config.digest, MAX_CONFIG_BYTES, signal),
    { maxBytes: MAX_CONFIG_BYTES, maxDepth: 64 },
    `config of ${image}`,
  );
  return formatPlatform(json ?? {});
};

const formatPlatform = ({ os, architecture, variant }: Platform): string =>
  canonicalPlatform([os, architecture, variant].filter((part) => typeof part === 'string' && part).join('/'));

/** Normalises variants like containerd: arm64 is arm64/v8, amd64 is amd64/v1, and arm is arm/v7. */
export const canonicalPlatform = (platform: string): string => {
  if (/\/(?:arm64\/v8|amd64\/v1)$/.test(platform)) return platform.slice(0, platform.lastIndexOf('/'));
  return platform.endsWith('/arm') ? `${platform}/v7` : platform;
};

/** Variants of an architecture, the newest first: a machine also runs images for those that follow its own. '' is the one that the canonical form leaves out. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  amd64: ['v4', 'v3', 'v2', ''],
  arm: ['v8', 'v7', 'v6', 'v5'],
  arm64: ['v9', ''],
};

/** The canonical platforms whose images a machine runs, the best first. */
const runnableOn = (platform: string): readonly string[] => {
  const canonical = canonicalPlatform(platform);
  const [os, architecture = '', variant = ''] = canonical.split('/');
  const variants = VARIANTS[architecture] ?? [];
  const at = variants.indexOf(variant);
  if (at === -1) return [canonical];
  return variants.slice(at).map((one) => [os, architecture, one].filter((part) => part !== '').join('/'));
};
