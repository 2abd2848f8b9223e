import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { hiddenBy, type IsHidden } from '#bundles/formats/author-schema/hidden-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { formatChannel, parseChannel } from '#bundles/names';
import type { Hub } from '../hub.ts';
import { parts } from '../store/parts.ts';
import type { AgentRow } from '../store/tables.ts';
import { channelOf } from './agent-record.ts';
import { type KnownNeeds, readNeeds } from './read-needs.ts';
import { readChannelLayers } from './read-channel-layers.ts';
import { showLayers } from './show-layers.ts';

type Follower = Pick<AgentRow, 'environment' | 'cluster_type'>;

/** Which values of a site are hidden, by the site inputs that the releases of its agents have now. */
export type HiddenAt = (agents: readonly Follower[]) => IsHidden;

/** @param configsOf the bundles of a channel's release, by formatChannel; undefined: they cannot be read, and every value is hidden */
export const hiddenAt = (
  configsOf: (channel: string) => readonly Pick<BundleConfig, 'siteInputs'>[] | undefined,
): HiddenAt => {
  const known = new Map<string, IsHidden>();
  return (agents) => {
    const channels = [...new Set(agents.map((row) => formatChannel(channelOf(row))))].toSorted();
    const key = channels.join(' ');
    const found = known.get(key) ?? hiddenIn(channels.map(configsOf));
    known.set(key, found);
    return found;
  };
};

const hiddenIn = (configs: readonly ReturnType<Parameters<typeof hiddenAt>[0]>[]): IsHidden => {
  const read = configs.filter((one) => one !== undefined);
  if (read.length < configs.length) return () => true;
  return hiddenBy(read.flat().map(({ siteInputs }) => siteInputs.schema));
};

/** Reads the releases of these agents. A channel without one hides the names of secrets alone. */
export const readHidden = async (
  hub: Pick<Hub, 'keys' | 'layout'>,
  agents: readonly Follower[],
  needs: KnownNeeds = new Map(),
): Promise<HiddenAt> => {
  const unreadable = new Set<string>();
  for (const channel of new Map(agents.map(channelOf).map((one) => [formatChannel(one), one])).values())
    await readNeeds(hub, [channel], needs).catch(() => unreadable.add(formatChannel(channel)));
  return hiddenAt((name) => (unreadable.has(name) ? undefined : (needs.get(name)?.configs ?? [])));
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
  return (site) => hidden(bySite.get(site) ?? []);
};

/** Values as people see them. */
export const shownValues = <Value>(
  values: Readonly<Record<string, Value>>,
  isHidden: IsHidden,
): Readonly<Record<string, Value | typeof WITHHELD>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, isHidden(name) ? WITHHELD : value]),
  );

/** By the site inputs of these channels. */
export const hiddenNames = (needs: KnownNeeds): IsHidden =>
  hiddenBy(
    [...needs.values()].flatMap((one) => one?.configs ?? []).map(({ siteInputs }) => siteInputs.schema),
  );

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
