import { sql } from 'kysely';
import { defined } from '#bundles/defined';
import { parseJson } from '#bundles/json/parse-json';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { decodeCursor, type Page } from '../../page.ts';
import { channelOf, labelsOf } from '../../sites/agent-record.ts';
import type { AgentRow, AgentStateRow, Database } from '../../store/tables.ts';
import { isIn, type Part } from './part.ts';
import type { RebootState } from '../../store/reboot-state.ts';
import { silentSince } from './silent-since.ts';
import type { ActualAgent, Looks } from './what-runs-where.ts';

/**
 * Columns for questions about many agents. Each is read and decoded for each agent of a fleet, so what other columns say, and keys and
 * hashes, which are most of a row's bytes, are left out.
 */
const AGENT_COLUMNS = [
  'id',
  'environment',
  'cluster_type',
  'labels',
  'life',
  'release_version',
  'release_channel',
  'enrolled_at',
  'heard_at',
  'online_at',
  'said_at',
  'looks',
  'service',
  'held_at',
  'held_until',
  'held_by',
  'held_reason',
  'reboot',
  'follower',
] as const satisfies readonly (keyof AgentRow)[];

const STATE_COLUMNS = [
  'packages',
  'checked_at',
  'settled_at',
] as const satisfies readonly (keyof AgentStateRow)[];

/** An agent and its state as a whole, whose columns are null as long as it never reported. */
export type FleetAgent = Pick<AgentRow, (typeof AGENT_COLUMNS)[number]> & {
  readonly [column in (typeof STATE_COLUMNS)[number]]: AgentStateRow[column] | null;
} & {
  /** Sum of its running packages that failed, that drifted, and that it could not check. */
  readonly troubles: number | null;
};

/** With the columns that only a page of agents shows. */
export type KnownAgent = FleetAgent &
  Pick<AgentRow, 'head_seq' | 'release_at'> & { readonly newest_seq: number | null };

/** Selects agents that are not revoked, by name. */
export const selectAgents = (db: Database, filter: Part) =>
  db
    .selectFrom('agent')
    .leftJoin('agent_state', 'agent_state.agent', 'agent.id')
    .select(AGENT_COLUMNS.map((column) => `agent.${column}` as const))
    .select(STATE_COLUMNS.map((column) => `agent_state.${column}` as const))
    .select(sql<number | null>`agent_state.failed + agent_state.drifted + agent_state.unknown`.as('troubles'))
    .where('agent.revoked_at', 'is', null)
    .where(isIn(filter))
    .orderBy('agent.id');

/** Agents that are not revoked, by name; of a page one more than its limit. */
export const readAgents = async (db: Database, filter: Part, page?: Page): Promise<readonly KnownAgent[]> => {
  let query = selectAgents(db, filter).select([
    'agent.head_seq',
    'agent.release_at',
    'agent_state.newest_seq',
  ]);
  if (page) query = query.limit(page.limit + 1);
  if (page?.cursor !== undefined)
    query = query.where('agent.id', '>', decodeCursor(page.cursor, [''] as const)[0]);
  return await query.execute();
};

/** Agents that are not revoked, by name, for questions about a whole fleet. */
export const readFleet = (db: Database, filter: Part): Promise<readonly FleetAgent[]> =>
  selectAgents(db, filter).execute();

/** Agents without the states of their assignments. Those of a channel share its object, and those with the same labels share these. */
export const withoutStates = (now: Date): ((row: FleetAgent) => ActualAgent) => {
  const times = { since: silentSince(now), at: formatTime(now) };
  const channelOf = shareChannels();
  const known = new Map<string, ActualAgent['labels']>();
  return (row) => {
    const labels = known.get(row.labels) ?? labelsOf(row);
    known.set(row.labels, labels);
    return toAgent(row, { channel: channelOf(row), labels, ...times });
  };
};

/** The channels of rows, one object for each. */
export const shareChannels = (): ((row: Pick<FleetAgent, 'environment' | 'cluster_type'>) => Channel) => {
  const environments = new Map<string, Map<string, Channel>>();
  return (row) => {
    const types = environments.get(row.environment) ?? new Map<string, Channel>();
    if (types.size === 0) environments.set(row.environment, types);
    const channel = types.get(row.cluster_type) ?? channelOf(row);
    types.set(row.cluster_type, channel);
    return channel;
  };
};

export const siteOf = ({ id }: Pick<FleetAgent, 'id'>): string => id.slice(0, id.indexOf('/'));

const toAgent = (
  row: FleetAgent,
  {
    channel,
    labels,
    since,
    at,
  }: Pick<ActualAgent, 'channel' | 'labels'> & {
    readonly since: Timestamp;
    readonly at: Timestamp;
  },
): ActualAgent => {
  const site = siteOf(row);
  return defined({
    site,
    agent: row.id.slice(site.length + 1),
    channel,
    labels,
    enrolledAt: row.enrolled_at,
    reported: row.packages !== null,
    heardAt: row.heard_at,
    saidAt: row.said_at,
    looks: row.looks !== null ? (parseJson(row.looks) as Looks) : undefined,
    stopped: row.service === 'stopped',
    online: row.online_at !== null,
    silent: row.online_at !== null && row.online_at < since,
    held:
      row.held_at === null || (row.held_until !== null && row.held_until <= at)
        ? null
        : { since: row.held_at, until: row.held_until, by: row.held_by, reason: row.held_reason },
    reboot: row.reboot !== null ? (parseJson(row.reboot) as RebootState) : undefined,
    follower: row.follower,
    accepted:
      row.release_version === null || row.release_channel === null
        ? null
        : { channel: row.release_channel, version: row.release_version },
    states: [],
  });
};

/** The channels that the agents follow, each once. */
export const channelsOf = (agents: readonly Pick<ActualAgent, 'channel'>[]): readonly Channel[] => [
  ...new Map(
    [...new Set(agents.map(({ channel }) => channel))].map((channel) => [formatChannel(channel), channel]),
  ).values(),
];
