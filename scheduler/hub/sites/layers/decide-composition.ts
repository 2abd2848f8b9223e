import { shortDigest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import type { AgentRow } from '../../store/tables.ts';
import { channelsOf } from '../agent-record.ts';
import { type PlannedComposition, planSites, type SiteFacts } from './plan-sites.ts';
import { type ReleasedChannelLayers, readChannelLayers } from '../read-channel-layers.ts';
import { refuseOlderLayers } from './refuse-older-layers.ts';
import { showLayers } from '../show-layers.ts';
import { showPast } from '../show-past.ts';
import { takeTurns, type Turns } from './take-turns.ts';

/** Composed values of sites, before anything is signed. */
export type DecidedComposition = {
  /** By formatChannel. */
  readonly layers: ReadonlyMap<string, ReleasedChannelLayers>;
  /** Channels whose layers cannot be read, or are older than before. */
  readonly faults: readonly FleetError[];
  readonly turns: Turns;
  readonly planned: readonly PlannedComposition[];
};

export type CompositionFacts = {
  readonly sites: readonly SiteFacts[];
  /** Agents whose channels are read, at least those of `sites`. */
  readonly agents: readonly AgentRow[];
  readonly now: Date;
  readonly dryRun: boolean;
  /** Only some sites are composed: no rollout begins. */
  readonly isPart: boolean;
};

/**
 * Decides the composed values of sites: by their layers, whose turn it is, and what a signer process accepts. May begin a rollout, which it stores; it
 * changes no site.
 * @throws FleetError the codes of the store; SIGNER_UNREACHABLE, PERMISSION
 */
export const decideComposition = async (
  hub: Hub,
  { sites, agents, now, dryRun, isPart }: CompositionFacts,
): Promise<DecidedComposition> => {
  const { layers, faults } = await readNewestLayers(hub, agents);
  const wanted = await planSites(sites, layers);
  const turns = await takeTurns(hub, { sites, layers, wanted, now, dryRun, isPart });
  const decided = await replan(wanted, { sites, layers, turns });
  const planned = dryRun ? decided : await judgedBySigner(hub, decided, { agents, layers });
  return { layers, faults, turns, planned };
};

/** The layers of the channels that agents follow, without those that are older than before. */
export const readNewestLayers = async (
  hub: Hub,
  agents: readonly AgentRow[],
): Promise<Pick<DecidedComposition, 'layers' | 'faults'>> => {
  const read = await readChannelLayers(hub, channelsOf(agents));
  const { layers, faults } = await refuseOlderLayers(hub, read.layers);
  return { layers, faults: [...read.faults, ...faults] };
};

/** Shows a signer process the layers of the sites that differ, and holds those of channels whose layers it refuses. */
const judgedBySigner = async (
  hub: Hub,
  planned: readonly PlannedComposition[],
  {
    agents,
    layers,
  }: Pick<CompositionFacts, 'agents'> & { readonly layers: ReadonlyMap<string, ReleasedChannelLayers> },
): Promise<readonly PlannedComposition[]> => {
  const bySite = Map.groupBy(agents, ({ site }) => site);
  const followed = (site: string): readonly Channel[] => channelsOf(bySite.get(site) ?? []);
  const due = new Set(
    planned.flatMap(({ site, differs }) => (differs ? followed(site).map(formatChannel) : [])),
  );
  const refused = await showLayers(
    hub,
    [...due].flatMap((channel) => layers.get(channel) ?? []),
  );
  await showPast(
    hub,
    [...due].map((name) => parseChannel(name)),
  );
  if (refused.size === 0) return planned;
  return planned.map((one) => {
    const held = followed(one.site).flatMap((channel) => refused.get(formatChannel(channel)) ?? []);
    return one.differs && held.length > 0 ? { ...one, differs: false, held } : one;
  });
};

/** Plans the sites of agents whose turn it is not again, with what these keep. */
const replan = async (
  wanted: readonly PlannedComposition[],
  {
    sites,
    layers,
    turns: { kept },
  }: Pick<Parameters<typeof takeTurns>[1], 'sites' | 'layers'> & { readonly turns: Turns },
): Promise<readonly PlannedComposition[]> => {
  if (kept.size === 0) return wanted;
  const concerned = sites.filter(({ agents }) => agents.some(({ id }) => kept.has(id)));
  const again = new Map((await planSites(concerned, layers, kept)).map((one) => [one.site, one]));
  return wanted.map((one) => again.get(one.site) ?? one);
};

/** 'layers of prod sha256:0123...' */
export const reasonOf = (layers: ReadonlyMap<string, ReleasedChannelLayers>): string =>
  [
    ...new Set(
      [...layers.values()].flatMap(({ channel, digest }) =>
        digest ? [`layers of ${channel.environment} ${shortDigest(digest)}`] : [],
      ),
    ),
  ]
    .join(', ')
    .slice(0, 1000) || 'no layers';
