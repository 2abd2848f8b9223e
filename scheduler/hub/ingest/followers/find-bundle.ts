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

type Bundles = ReadonlyMap<Digest, FoundBundle['releases']>;

/** Bundles of each channel's releases, with the digests of the artifacts that they were read from. */
const released = new WeakMap<TrustRoot, Map<string, { readonly from: string; readonly bundles: Bundles }>>();

/**
 * Finds the bundle that a notification names among the verified releases of the follower's channel.
 * @returns undefined if no release in the layout names it @throws FleetError the codes of listReleases and readBundle
 */
export const findBundle = async (
  { layout: directory, keys }: Pick<Hub, 'layout' | 'keys'>,
  channel: Channel,
  digest: Digest,
): Promise<FoundBundle | undefined> => {
  const layout = await openOrStartLayout(directory);
  const releases = (await readBundles(layout, channel, keys)).get(digest);
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

/** The newest released bundle of the channel whose assignment of this namespace has the package. @throws as findBundle */
export const findBundleWith = async (
  hub: Pick<Hub, 'layout' | 'keys'>,
  channel: Channel,
  { namespace, deployed }: NamedPackage,
): Promise<Digest | undefined> => {
  const layout = await openOrStartLayout(hub.layout);
  // Most often it is the newest one.
  const newest = [...(await readBundles(layout, channel, hub.keys))].toSorted(
    ([, [one]], [, [other]]) => (other?.version ?? 0) - (one?.version ?? 0),
  );
  for (const [digest] of newest) {
    const { config } = await readBundle(layout.blobs, digest);
    const found = config.assignments.find((one) => (one.namespace ?? one.id) === namespace);
    if (found !== undefined && deployedPackage(found.package) === deployed) return digest;
  }
  return undefined;
};

const readBundles = async (
  layout: Layout,
  channel: Channel,
  { roots, root }: Hub['keys'],
): Promise<Bundles> => {
  const own = `${channelRepository(channel)}:`;
  const from = layout.manifests
    .filter((manifest) => referenceOf(manifest)?.startsWith(own))
    .map(({ digest }) => digest)
    .join(' ');
  const known = released.get(root) ?? new Map<string, { readonly from: string; readonly bundles: Bundles }>();
  released.set(root, known);
  const before = known.get(formatChannel(channel));
  if (before?.from === from) return before.bundles;
  const bundles = new Map<Digest, FoundBundle['releases'][number][]>();
  for (const { release, bundles: named } of await listReleases(layout, channel, roots)) {
    const { version, issuedAt } = release.predicate;
    for (const bundle of named) bundles.set(bundle, [...(bundles.get(bundle) ?? []), { version, issuedAt }]);
  }
  known.set(formatChannel(channel), { from, bundles });
  return bundles;
};
