import type { Digest } from '#bundles/digest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { channelRepository } from '#bundles/transport/registry/references';
import { deployedPackage } from '../../../model/reconciler-traits.ts';
import { listReleases } from '../../../release/reissue/list-releases.ts';
import type { Hub } from '../../hub.ts';
import type { NamedPackage } from './notification.ts';

/** A bundle that releases of a channel name. */
export type FoundBundle = {
  /** Newest first. */
  readonly releases: readonly { readonly version: number; readonly issuedAt: Timestamp }[];
  /** By the name of the objects that the templates write for it: the assignment's namespace. */
  readonly assignments: ReadonlyMap<string, { readonly id: string; readonly package: Digest }>;
};

/** Answers of one post: the layout is opened once, and a bundle is read once. @throws FleetError the codes of listReleases and readBundle */
export type ReleasedBundles = {
  /** The bundle that a notification names, among the verified releases of the channel; undefined: no release in the layout names it. */
  readonly find: (digest: Digest) => Promise<FoundBundle | undefined>;
  /** The newest released bundle whose assignment of this namespace has the package. */
  readonly findWith: (named: NamedPackage) => Promise<Digest | undefined>;
};

type Bundles = ReadonlyMap<Digest, FoundBundle['releases']>;

/** Bundles of a channel's releases, by the digests of the artifacts that they were read from. */
type Known = {
  readonly from: string;
  readonly bundles: Bundles;
  /** Packages that each bundle deploys. Its digest names its content, so the next release adds only its own. */
  readonly deployed: Map<Digest, readonly string[]>;
  /** The newest bundle of each deployed package. */
  index: Promise<ReadonlyMap<string, Digest>> | undefined;
};

const released = new WeakMap<TrustRoot, Map<string, Known>>();

/** Opens the released bundles of the follower's channel when the first question comes. */
export const releasedBundles = (hub: Pick<Hub, 'layout' | 'keys'>, channel: Channel): ReleasedBundles => {
  let opening: Promise<readonly [Layout, Known]> | undefined;
  const open = (): NonNullable<typeof opening> => (opening ??= openKnown(hub, channel));
  const found = new Map<Digest, Promise<FoundBundle | undefined>>();
  return {
    find: (digest) => {
      const one = found.get(digest) ?? findIn(open(), digest);
      found.set(digest, one);
      return one;
    },
    findWith: async ({ namespace, deployed }) => {
      const [layout, known] = await open();
      return (await indexOf(layout, known)).get(deployedAt(namespace, deployed));
    },
  };
};

const findIn = async (
  opening: Promise<readonly [Layout, Known]>,
  digest: Digest,
): Promise<FoundBundle | undefined> => {
  const [layout, { bundles }] = await opening;
  const releases = bundles.get(digest);
  if (!releases) return undefined;
  const { config } = await readBundle(layout.blobs, digest);
  return {
    releases,
    assignments: new Map(
      config.assignments.map(({ id, namespace, package: content }) => [
        namespace ?? id,
        { id, package: content },
      ]),
    ),
  };
};

const deployedAt = (namespace: string, deployed: string): string => `${namespace} ${deployed}`;

/** Made once until the channel has another release; a failure is not kept. */
const indexOf = (layout: Layout, known: Known): Promise<ReadonlyMap<string, Digest>> => {
  if (known.index) return known.index;
  const index = indexBundles(layout, known);
  known.index = index;
  index.catch(() => {
    known.index = undefined;
  });
  return index;
};

const indexBundles = async (
  layout: Layout,
  { bundles, deployed }: Known,
): Promise<ReadonlyMap<string, Digest>> => {
  const index = new Map<string, Digest>();
  const oldest = [...bundles].toSorted(
    ([, [one]], [, [other]]) => (one?.version ?? 0) - (other?.version ?? 0),
  );
  for (const [digest] of oldest) {
    const packages = deployed.get(digest) ?? (await readDeployed(layout, digest));
    deployed.set(digest, packages);
    for (const one of packages) index.set(one, digest);
  }
  return index;
};

const readDeployed = async (layout: Layout, digest: Digest): Promise<readonly string[]> => {
  const { config } = await readBundle(layout.blobs, digest);
  const packages = new Map<string, string>();
  for (const { id, namespace = id, package: content } of config.assignments)
    if (!packages.has(namespace)) packages.set(namespace, deployedAt(namespace, deployedPackage(content)));
  return [...packages.values()];
};

const openKnown = async (
  { layout: directory, keys: { roots, root } }: Pick<Hub, 'layout' | 'keys'>,
  channel: Channel,
): Promise<readonly [Layout, Known]> => {
  const layout = await openOrStartLayout(directory);
  const own = `${channelRepository(channel)}:`;
  const from = layout.manifests
    .filter((manifest) => referenceOf(manifest)?.startsWith(own))
    .map(({ digest }) => digest)
    .join(' ');
  const channels = released.get(root) ?? new Map<string, Known>();
  released.set(root, channels);
  const before = channels.get(formatChannel(channel));
  if (before?.from === from) return [layout, before];
  const bundles = new Map<Digest, FoundBundle['releases'][number][]>();
  for (const { release, bundles: named } of await listReleases(layout, channel, roots)) {
    const { version, issuedAt } = release.predicate;
    for (const bundle of named) bundles.set(bundle, [...(bundles.get(bundle) ?? []), { version, issuedAt }]);
  }
  const kept = [...(before?.deployed ?? [])].filter(([digest]) => bundles.has(digest));
  const known: Known = { from, bundles, deployed: new Map(kept), index: undefined };
  channels.set(formatChannel(channel), known);
  return [layout, known];
};
