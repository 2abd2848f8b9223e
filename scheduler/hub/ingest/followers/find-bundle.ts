import type { Digest } from '#bundles/digest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { channelRepository } from '#bundles/transport/registry/references';
import { deployedPackage } from '../../../model/reconciler-traits.ts';
import { type ReadOnce, readOnce } from '../../../load/releases/read-once.ts';
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

/** Releases of a channel in a layout. */
type ChannelReleases = {
  readonly layout: Layout;
  readonly roots: readonly TrustRoot[];
  readonly channel: Channel;
};

/** Opens the released bundles of the follower's channel when the first question comes. */
export const releasedBundles = (
  { layout: directory, keys: { roots } }: Pick<Hub, 'layout' | 'keys'>,
  channel: Channel,
): ReleasedBundles => {
  let opening: Promise<ChannelReleases> | undefined;
  const open = (): Promise<ChannelReleases> =>
    (opening ??= openOrStartLayout(directory).then((layout) => ({ layout, roots, channel })));
  const found = new Map<Digest, Promise<FoundBundle | undefined>>();
  return {
    find: (digest) => {
      const one = found.get(digest) ?? findIn(open(), digest);
      found.set(digest, one);
      return one;
    },
    findWith: async ({ namespace, deployed }) =>
      (await readIndex(await open())).get(deployedAt(namespace, deployed)),
  };
};

const findIn = async (
  opening: Promise<ChannelReleases>,
  digest: Digest,
): Promise<FoundBundle | undefined> => {
  const released = await opening;
  const releases = (await readBundles(released)).get(digest);
  if (!releases) return undefined;
  const { config } = await readBundle(released.layout.blobs, digest);
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

const onceOf = ({ layout, roots, channel }: ChannelReleases, what: string): ReadOnce => ({
  layout,
  roots,
  repository: channelRepository(channel),
  what,
});

const readBundles = (released: ChannelReleases): Promise<Bundles> =>
  readOnce(onceOf(released, 'released bundles'), async () => {
    const bundles = new Map<Digest, FoundBundle['releases'][number][]>();
    for (const { release, bundles: named } of await listReleases(
      released.layout,
      released.channel,
      released.roots,
    )) {
      const { version, issuedAt } = release.predicate;
      for (const bundle of named)
        bundles.set(bundle, [...(bundles.get(bundle) ?? []), { version, issuedAt }]);
    }
    return bundles;
  });

/** Packages that each bundle of a repository deploys. Its digest names its content, so the next release adds only its own. */
const deployed = new Map<string, ReadonlyMap<Digest, readonly string[]>>();

/** The newest bundle of each deployed package. */
const readIndex = (released: ChannelReleases): Promise<ReadonlyMap<string, Digest>> =>
  readOnce(onceOf(released, 'bundles by deployed package'), async () => {
    const { layout, channel } = released;
    const key = `${layout.directory} ${channelRepository(channel)}`;
    const before = deployed.get(key);
    const now = new Map<Digest, readonly string[]>();
    const index = new Map<string, Digest>();
    const oldest = [...(await readBundles(released))].toSorted(
      ([, [one]], [, [other]]) => (one?.version ?? 0) - (other?.version ?? 0),
    );
    for (const [digest] of oldest) {
      const packages = before?.get(digest) ?? (await readDeployed(layout, digest));
      now.set(digest, packages);
      for (const one of packages) index.set(one, digest);
    }
    deployed.set(key, now);
    return index;
  });

const readDeployed = async (layout: Layout, digest: Digest): Promise<readonly string[]> => {
  const { config } = await readBundle(layout.blobs, digest);
  const packages = new Map<string, string>();
  for (const { id, namespace = id, package: content } of config.assignments)
    if (!packages.has(namespace)) packages.set(namespace, deployedAt(namespace, deployedPackage(content)));
  return [...packages.values()];
};
