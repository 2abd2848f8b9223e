import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { hiddenBy, type IsHidden } from '#bundles/formats/author-schema/hidden-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import type { Digest } from '#bundles/digest';
import { channelRepository } from '#bundles/transport/registry/references';
import { readOnce } from '../../load/releases/read-once.ts';
import { listReleases } from '../../release/reissue/list-releases.ts';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import type { Hub } from '../hub.ts';
import { parts } from '../store/parts.ts';
import type { AgentRow } from '../store/tables.ts';
import { channelsOf } from './agent-record.ts';
import { type KnownNeeds, readNeeds } from './read-needs.ts';
import { readChannelLayers } from './read-channel-layers.ts';
import { showLayers } from './show-layers.ts';

type Follower = Pick<AgentRow, 'environment' | 'cluster_type'>;

/** Which values of a site are hidden, by the site inputs of the releases of its agents. */
export type Hiding = {
  /** By the newest releases. */
  readonly isHidden: IsHidden;
  /** By those before them, too: a value that was set while it was hidden stays hidden. */
  readonly wasHidden: IsHidden;
};

export type HiddenAt = (agents: readonly Follower[]) => Hiding;

/** Names that releases of a channel hide or hid, by formatChannel; undefined: they cannot be read, and every old value is hidden. */
export type HiddenBefore = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** @param past from readHiddenBefore @param configsOf the bundles of a channel's release, by formatChannel; undefined: they cannot be read, and every value is hidden */
export const hiddenAt = (
  configsOf: (channel: string) => readonly Pick<BundleConfig, 'siteInputs'>[] | undefined,
  past: HiddenBefore,
): HiddenAt => {
  const known = new Map<string, Hiding>();
  return (agents) => {
    const channels = channelsOf(agents).map(formatChannel).toSorted();
    const key = channels.join(' ');
    const found =
      known.get(key) ??
      withPast(
        hiddenIn(channels.map(configsOf)),
        channels.map((name) => past.get(name)),
      );
    known.set(key, found);
    return found;
  };
};

const hiddenIn = (configs: readonly ReturnType<Parameters<typeof hiddenAt>[0]>[]): IsHidden => {
  const read = configs.filter((one) => one !== undefined);
  if (read.length < configs.length) return () => true;
  return hiddenBy(read.flat().map(({ siteInputs }) => siteInputs.schema));
};

const withPast = (isHidden: IsHidden, past: readonly (ReadonlySet<string> | undefined)[]): Hiding => ({
  isHidden,
  wasHidden: (name) => isHidden(name) || past.some((names) => names === undefined || names.has(name)),
});

/** Releases of a channel that are read for it, newest first. */
export const MAX_PAST = 100;

/** Names that bundles hide, by their digest. */
const hiddenByBundle = new Map<Digest, ReadonlySet<string>>();

export const readHiddenNames = async (layout: Layout, bundle: Digest): Promise<ReadonlySet<string>> => {
  const known = hiddenByBundle.get(bundle);
  if (known) return known;
  const names = writeOnlyNames((await readBundle(layout.blobs, bundle)).config.siteInputs.schema);
  hiddenByBundle.set(bundle, names);
  return names;
};

/** Reads what the releases of channels that the layout still has hide. */
export const readHiddenBefore = async (
  { keys: { roots }, layout: directory }: Pick<Hub, 'keys' | 'layout'>,
  channels: readonly Channel[],
): Promise<HiddenBefore> => {
  const layout = await openOrStartLayout(directory);
  const past = new Map<string, ReadonlySet<string> | undefined>();
  for (const channel of channels) {
    const repository = channelRepository(channel);
    const reading = readOnce({ layout, roots, repository, what: 'hidden names' }, async () => {
      const names = new Set<string>();
      for (const { bundles } of (await listReleases(layout, channel, roots)).slice(0, MAX_PAST))
        for (const bundle of bundles)
          for (const name of await readHiddenNames(layout, bundle)) names.add(name);
      return names;
    });
    past.set(formatChannel(channel), await reading.catch(() => undefined));
  }
  return past;
};

/** Reads the releases of these agents. A channel without one hides the names of secrets alone. */
export const readHidden = async (
  hub: Pick<Hub, 'keys' | 'layout'>,
  agents: readonly Follower[],
  needs: KnownNeeds = new Map(),
): Promise<HiddenAt> => {
  const unreadable = new Set<string>();
  const channels = channelsOf(agents);
  for (const channel of channels)
    await readNeeds(hub, [channel], needs).catch(() => unreadable.add(formatChannel(channel)));
  return hiddenAt(
    (name) => (unreadable.has(name) ? undefined : (needs.get(name)?.configs ?? [])),
    await readHiddenBefore(hub, channels),
  );
};

/** The same by the name of a site, also for clusters that follow a tree. @param sites undefined: all */
export const readHiddenOf = async (
  hub: Pick<Hub, 'keys' | 'layout' | 'store'>,
  sites?: readonly string[],
): Promise<(site: string) => IsHidden> => {
  const every = hub.store.db
    .selectFrom('agent')
    .select(['site', 'environment', 'cluster_type'])
    .where('revoked_at', 'is', null);
  const found: Awaited<ReturnType<typeof every.execute>> = [];
  if (sites === undefined) found.push(...(await every.execute()));
  else
    for (const names of parts([...new Set(sites)]))
      found.push(...(await every.where('site', 'in', names).execute()));
  const hidden = await readHidden(hub, found);
  const bySite = Map.groupBy(found, ({ site }) => site);
  return (site) => hidden(bySite.get(site) ?? []).wasHidden;
};

/** Values as people see them. */
export const shownValues = <Value>(
  values: Readonly<Record<string, Value>>,
  isHidden: IsHidden,
): Readonly<Record<string, Value | typeof WITHHELD>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isHidden(name) ? WITHHELD : value]),
  );

/** Hidden are values that a release of these channels hides, or one before it that the layout still has: an agent may run it. */
export const readHiddenIn = async (
  hub: Pick<Hub, 'keys' | 'layout'>,
  needs: KnownNeeds,
): Promise<IsHidden> => {
  const past = await readHiddenBefore(
    hub,
    [...needs.keys()].map((name) => parseChannel(name)),
  );
  return withPast(hiddenIn([...needs.values()].map((one) => one?.configs ?? [])), [...past.values()])
    .wasHidden;
};

/**
 * Shows a signer process the releases that hide a value by its schema: it composes the same decision, with the same values withheld. Does nothing where
 * the release key is on this machine. @throws FleetError SIGNER_UNREACHABLE, PERMISSION
 */
export const showHidden = async (hub: Pick<Hub, 'keys' | 'layout'>, needs: KnownNeeds): Promise<void> => {
  if (hub.keys.signerOf('release') === undefined) return;
  const hiding = [...needs].filter(([, one]) =>
    one?.configs.some(({ siteInputs }) => writeOnlyNames(siteInputs.schema).size > 0),
  );
  const { layers } = await readChannelLayers(
    hub,
    hiding.map(([name]) => parseChannel(name)),
  );
  await showLayers(hub, [...layers.values()]);
};
