import { imageBlobs, isImage } from '#bundles/formats/bundle/image-blobs';
import { isManifestType } from '#bundles/formats/layout/manifest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Collection, hasMoved, planCollection } from '#bundles/transport/collect/plan-collection';
import { removeTags } from '#bundles/transport/collect/remove-tags';
import { compareBytes, type Digest } from '#bundles/digest';
import { type ErrorCode, FleetError, isFleetError } from '#bundles/errors';
import { missingBlob } from '#bundles/formats/layout/verified';
import { type Channel, formatChannel, isName } from '#bundles/names';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { imageTag } from '#bundles/transport/registry/references';
import type { Registry, Repository } from '#bundles/transport/registry/registry';
import { formatRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { Artifact } from '#bundles/transport/collect/read-artifacts';

export type PruneRequest = {
  /** Number of releases to keep for each channel, including the current one; at least 1. */
  readonly keep: number;
  /** undefined: all channels of the registry. */
  readonly channels: readonly Channel[] | undefined;
  /** Digest of the root given by hand. */
  readonly pinned: Digest | undefined;
  /** false: dry run. */
  readonly remove: boolean;
  readonly signal: AbortSignal;
};

export type PrunedRepository = {
  readonly repository: string;
  /** 'moved': another push changed the channel, so nothing was removed. */
  readonly outcome: 'planned' | 'removed' | 'moved';
  /** Removed tags, or in a dry run those that would be removed. */
  readonly tags: readonly string[];
};

export type Pruned = {
  readonly repositories: readonly PrunedRepository[];
  readonly notes: readonly string[];
};

type Planned = { readonly path: string; readonly repository: Repository; readonly collection: Collection };

/**
 * Removes tags of old releases and of images that only they use. Images are removed before their releases, so that an interrupted run can
 * be repeated. Tags that fleet-export did not make and images that no removed release names are never touched.
 * @throws FleetError CHANNEL_MISSING, ROOT_UNKNOWN, REGISTRY_*, or the error of an invalid release that is kept; then nothing is removed
 */
export const pruneRegistry = async (registry: Registry, order: PruneRequest): Promise<Pruned> => {
  const { channels, keep, pinned, remove, signal } = order;
  const listed = await registry.repositories(signal);
  const where = formatRegistryAddress(registry.address);
  const paths = listed ? await channelsIn(registry, listed, signal) : channels?.map(formatChannel);
  if (!paths) {
    throw new FleetError('USAGE', `${where} does not list its repositories`, {
      hint: 'Name the channels with --channel',
    });
  }
  const wanted = new Set(channels?.map(formatChannel) ?? paths);
  const unknown = [...wanted].find((name) => !paths.includes(name));
  if (unknown !== undefined || wanted.size === 0)
    throw new FleetError('CHANNEL_MISSING', `${where} has no release${unknown ? ` of ${unknown}` : ''}`);

  const planned: Planned[] = [];
  for (const path of paths) {
    const repository = registry.repository(path);
    const most = wanted.has(path) ? keep : Number.MAX_SAFE_INTEGER;
    planned.push({ path, repository, collection: await plan(path, repository, most, pinned, signal) });
  }
  const notes: string[] = [];
  const mirror = listed
    ? await planMirrorTags(registry, planned, notes, signal)
    : new Map<string, readonly string[]>();
  if (!listed)
    notes.push(
      'images under their own names were kept, because the registry does not list the other channels that may use them',
    );

  const chosen = planned.filter(({ path }) => wanted.has(path));
  const moved = remove && (await anyMoved(planned, signal));
  const repositories: PrunedRepository[] = [];
  const prune = async (repository: Repository, path: string, tags: readonly string[]): Promise<void> => {
    const carriedOut = moved ? 'moved' : 'removed';
    const outcome = remove ? carriedOut : 'planned';
    if (outcome === 'removed') await removeTags(repository, tags, signal);
    repositories.push({ repository: path, outcome, tags: outcome === 'moved' ? [] : tags });
  };
  for (const [path, tags] of mirror) await prune(registry.repository(path), path, tags);
  for (const { path, repository, collection } of chosen) await prune(repository, path, collection.remove);
  return { repositories, notes };
};

const channelsIn = async (
  registry: Registry,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const path of paths) {
    const [environment, clusterType, ...more] = path.split('/');
    if (more.length > 0 || environment === 'sites' || !isName(environment) || !isName(clusterType)) continue;
    if (await registry.repository(path).resolve('release', signal)) found.push(path);
  }
  return found;
};

const NOTHING = {
  name: 'nothing',
  size: async () => undefined,
  open: (digest: Digest) => Promise.reject(missingBlob(digest, 'nothing')),
};

const plan = async (
  path: string,
  repository: Repository,
  keep: number,
  pinned: Digest | undefined,
  signal: AbortSignal,
): Promise<Collection> => {
  const collection = await planCollection(
    {
      path,
      repository,
      pointers: [],
      layout: NOTHING,
      chain: [],
      choose: (artifacts, named) => chooseNewest(artifacts, named, keep),
      held: new Set(),
    },
    signal,
  );
  if (pinned === undefined || collection.chain.some(({ digest }) => digest === pinned)) return collection;
  throw new FleetError('ROOT_UNKNOWN', `${repository.name} does not have the root ${pinned}`, {
    hint: 'It belongs to another fleet, or the digest was mistyped',
  });
};

const KEPT_ON: readonly ErrorCode[] = ['REGISTRY_DENIED', 'REGISTRY_UNREACHABLE', 'ABORTED', 'INTERNAL'];

/** Path -> tags of images under their own names that only removed bundles use. */
const planMirrorTags = async (
  registry: Registry,
  planned: readonly Planned[],
  notes: string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const used = new Set<string>();
  const unused = new Map<string, Set<string>>();
  for (const { repository, collection } of planned)
    for (const digest of collection.bundles.stay)
      for (const [path, tag] of await mirrorTags(repository, digest, signal)) used.add(`${path}:${tag}`);
  for (const { repository, collection } of planned)
    for (const digest of collection.bundles.go) {
      const tags = await mirrorTags(repository, digest, signal).catch((error: unknown) => {
        // A damaged release that is to be removed does not stop the clean-up.
        if (!isFleetError(error) || error.retryable || KEPT_ON.includes(error.code)) throw error;
        notes.push(`images of bundle ${digest} were kept, because it cannot be read: ${error.message}`);
        return [];
      });
      for (const [path, tag] of tags)
        if (!used.has(`${path}:${tag}`)) unused.set(path, (unused.get(path) ?? new Set()).add(tag));
    }
  const there = new Map<string, readonly string[]>();
  for (const [path, tags] of [...unused].toSorted(([a], [b]) => compareBytes(a, b))) {
    const found = (await registry.repository(path).tags(signal)).filter((tag) => tags.has(tag));
    if (found.length > 0) there.set(path, found);
  }
  return there;
};

/** Paths and tags under which push stored the images of a bundle, including manifests inside of indexes and signatures. */
const mirrorTags = async (
  { blobs }: Repository,
  digest: Digest,
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> => {
  const { config } = await readBundle(blobs, digest, signal);
  const found: (readonly [string, string])[] = [];
  for (const image of config.closure.filter(isImage)) {
    const parts = await imageBlobs(blobs, image, signal);
    const manifests = parts.filter(({ mediaType }) => isManifestType(mediaType)).map((it) => it.digest);
    for (const path of new Set((image.names ?? []).map(mirrorPath)))
      for (const one of [...manifests, ...(image.attachments ?? [])]) found.push([path, imageTag(one)]);
  }
  return found;
};

const anyMoved = async (planned: readonly Planned[], signal: AbortSignal): Promise<boolean> => {
  for (const { repository, collection } of planned)
    if (await hasMoved(repository, collection, signal)) return true;
  return false;
};

/**
 * Releases of a channel to keep: those that its pointers name, the `keep` newest by number (media may have skipped some), and those newer
 * than its pointer, which are being pushed.
 */
const chooseNewest = (
  artifacts: readonly Artifact[],
  pinned: readonly Artifact[],
  keep: number,
): ReadonlySet<Digest> => {
  const kept = new Set(pinned.map(({ digest }) => digest));
  const all = [...artifacts, ...pinned];
  const numbersOf = (tag: Artifact['tag'], some: readonly Artifact[]): readonly number[] =>
    some.flatMap((artifact) => (artifact.tag === tag ? [artifact.version.number] : []));
  const releases = [...new Set(numbersOf('release', all))].toSorted((a, b) => b - a);
  const oldest = releases[Math.min(keep, releases.length) - 1] ?? 0;
  for (const { digest, tag, version } of artifacts) {
    const pointer = Math.max(0, ...numbersOf(tag, pinned));
    if (tag === 'release' ? version.number >= oldest : version.number > pointer) kept.add(digest);
  }
  return kept;
};
