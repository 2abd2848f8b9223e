import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { isFailed } from '../../../model/event-steps.ts';
import {
  type FleetAgent,
  readFleet,
  shareChannels,
  withoutStates,
} from '../../questions/state/read-agents.ts';
import { readDesired } from '../../questions/state/read-desired.ts';
import { readStandings, type Standing } from '../../questions/state/read-standings.ts';
import type { Database } from '../../store/tables.ts';
import type { AgentFact } from './judge-rollout.ts';

export type ChannelRollout = {
  readonly channel: Channel;
  /** When it started: failures before do not count. */
  readonly start: Timestamp;
};

/**
 * Facts about the agents of channels, by channel, compared with the channels' current releases. The agents of all channels are
 * read together.
 */
export const readFacts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  rollouts: readonly ChannelRollout[],
  now: Date,
): Promise<ReadonlyMap<string, readonly AgentFact[]>> => {
  const { db } = hub.store;
  const channels = rollouts.map(({ channel }) => channel);
  const starts = new Map(rollouts.map(({ channel, start }) => [formatChannel(channel), start]));
  const nameOf = namesOf();
  const agents = (await readAgentsOf(db, channels)).filter((row) => starts.has(nameOf(row)));
  const desired = await readDesired(hub.layout, channels, hub.keys.root);
  const toActual = withoutStates(now);
  const facts = new Map([...starts.keys()].map((channel) => [channel, [] as AgentFact[]]));
  const take = (standing: Standing, at: number): void => {
    const row = agents[at];
    if (!row) return;
    const channel = nameOf(row);
    const wanted = desired.get(channel);
    const packages = wanted?.kind === 'release' ? wanted.packages : NO_PACKAGES;
    const state = stateOf(standing, packages, starts.get(channel) ?? '');
    const { site, agent, labels, enrolledAt, heardAt } = toActual(row);
    facts.get(channel)?.push({ site, agent, labels, enrolledAt, heardAt, state });
  };
  await readStandings(db, agents, { desired, now, take });
  return facts;
};

const NO_PACKAGES: ReadonlyMap<string, unknown> = new Map();

/** The names of the channels of agents, each formatted once. */
const namesOf = (): ((row: FleetAgent) => string) => {
  const channelOf = shareChannels();
  const names = new Map<Channel, string>();
  return (row) => {
    const channel = channelOf(row);
    const name = names.get(channel) ?? formatChannel(channel);
    names.set(channel, name);
    return name;
  };
};

/** Agents of a channel, or of all channels of the environments of several. */
const readAgentsOf = async (db: Database, channels: readonly Channel[]): Promise<readonly FleetAgent[]> => {
  const [channel] = channels;
  if (channel && channels.length === 1) return readFleet(db, channel);
  const agents: FleetAgent[] = [];
  for (const environment of new Set(channels.map((one) => one.environment)))
    agents.push(...(await readFleet(db, { environment })));
  return agents;
};

const stateOf = (
  standing: Standing,
  packages: ReadonlyMap<string, unknown>,
  start: Timestamp,
): AgentFact['state'] => {
  if (standing.kind === 'complies')
    return packages.size > 0 && standing.checkedAt === null
      ? { kind: 'pending', why: 'not checked yet' }
      : { kind: 'complies', since: standing.checkedAt ?? start };
  const { rows } = standing;
  for (const { assignment, health } of rows) {
    if (!health || assignment === null || !packages.has(assignment) || !isFailed(health)) continue;
    const at = knownAt(health);
    if (at >= start)
      return { kind: 'failed', at, why: `${assignment}: ${health.message ?? health.code ?? 'it failed'}` };
  }
  const other = rows.find(({ verdict }) => verdict !== 'complies');
  if (other) return { kind: 'pending', why: why(other.assignment, other.verdict) };
  const times: Timestamp[] = [];
  for (const { assignment, running, health } of rows) {
    if (assignment === null) continue;
    // A check of an earlier package does not count as the health of the running one.
    if (!running || !health || health.seq < running.seq) return { kind: 'pending', why: 'not checked yet' };
    times.push(knownAt(running), knownAt(health));
  }
  const [first = start, ...more] = times;
  return { kind: 'complies', since: more.reduce((last, at) => (at > last ? at : last), first) };
};

const why = (assignment: string | null, verdict: string): string =>
  assignment === null ? verdict : `${assignment} ${verdict}`;

/** By the agent's clock if that is trusted and not ahead; otherwise when the hub received it. */
const knownAt = ({
  at,
  source,
}: {
  readonly at: Timestamp;
  readonly source: { readonly receivedAt: Timestamp; readonly clockTrusted: boolean };
}): Timestamp => (source.clockTrusted && at < source.receivedAt ? at : source.receivedAt);
