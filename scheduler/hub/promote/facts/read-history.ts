import { sql } from 'kysely';
import { type Channel, parseChannel } from '#bundles/names';
import { releaseValue } from '../../ingest/reports/facts.ts';
import { type FleetAgent, readFleet, selectAgents } from '../../questions/state/read-agents.ts';
import { PART, parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';
import { valuesTable } from '../../store/values-table.ts';
import type { AgentHistory, Stated } from './agent-facts.ts';
import type { ChannelFacts } from './facts.ts';

/** An agent, and the number of the event by which it first imported a release of the candidate; null: it reported none. */
export type ImportingAgent = FleetAgent & { readonly imported_seq: number | null };

type Accepted = Pick<FleetAgent, 'release_channel' | 'release_version'>;

/**
 * Reads the agents of an environment with their first import, in their current life, of a release of their channel that has the candidate.
 * @param newest the current releases of the channels
 */
export const readImporting = async (
  db: Database,
  environment: string,
  channels: readonly ChannelFacts[],
  newest: readonly Accepted[],
): Promise<readonly ImportingAgent[]> => {
  const values = importValues(channels, newest);
  const [first = [], ...others] = parts([...values]);
  const agents = await readFirsts(db, environment, first);
  // Agents can have accepted releases that are newer than the layout's.
  const newer = [...importValues(channels, agents)].filter(([value]) => !values.has(value));
  const seqs = new Map<string, number>();
  for (const part of [...others, ...parts(newer)])
    for (const { id, imported_seq: seq } of await readFirsts(db, environment, part))
      if (seq !== null && seq < (seqs.get(id) ?? Number.POSITIVE_INFINITY)) seqs.set(id, seq);
  if (seqs.size === 0) return agents;
  return agents.map((agent) => {
    const earliest = Math.min(
      agent.imported_seq ?? Number.POSITIVE_INFINITY,
      seqs.get(agent.id) ?? Number.POSITIVE_INFINITY,
    );
    return { ...agent, imported_seq: Number.isFinite(earliest) ? earliest : null };
  });
};

/** The first import of each of these values that is of the agent's life and channel. The index of releases alone has the answer. */
const readFirsts = async (
  db: Database,
  environment: string,
  values: readonly Value[],
): Promise<readonly ImportingAgent[]> => {
  const asked = values.flatMap(([value, channel]) =>
    channel.environment === environment ? [[value, channel.clusterType]] : [],
  );
  if (asked.length === 0)
    return (await readFleet(db, { environment })).map((agent) => ({ ...agent, imported_seq: null }));
  type First = { agent: string; life: number; cluster_type: string; seq: number };
  const firsts = sql<First>`(
    with asked(value, cluster_type) as (${valuesTable(['text', 'text'], asked)})
    select history.agent, history.life, asked.cluster_type, min(history.seq) as seq
    from asked cross join history
    where history.field = 'release' and history.value = asked.value
    group by history.agent, history.life, asked.cluster_type)`;
  return await selectAgents(db, { environment })
    .leftJoin(firsts.as('first'), (join) =>
      join
        .onRef('first.agent', '=', 'agent.id')
        .onRef('first.life', '=', 'agent.life')
        .onRef('first.cluster_type', '=', 'agent.cluster_type'),
    )
    .select('first.seq as imported_seq')
    .execute();
};

/** A value in the history of agents that changed to the first release of the candidate or to a later one, and its channel. */
type Value = readonly [string, Channel];

/** Upper bound on release numbers looked up beyond the first release of the candidate, because agents can report any number. */
const MAX_RELEASES = 500;

const importValues = (
  channels: readonly ChannelFacts[],
  newest: readonly Accepted[],
): ReadonlyMap<string, Channel> => {
  const released = channels.flatMap(({ channel, since }) => (since ? [{ channel, since }] : []));
  const accepted = new Map(released.map(({ channel }) => [channel, new Set<number>()]));
  for (const { release_channel: channel, release_version: version } of newest)
    if (channel !== null && version !== null) accepted.get(channel)?.add(version);
  const values = released.flatMap(({ channel, since }) => {
    const newer = [...(accepted.get(channel) ?? [])]
      .filter((version) => version >= since.version)
      .toSorted((a, b) => a - b);
    const until = Math.min(newer.at(-1) ?? since.version, since.version + MAX_RELEASES);
    const earlier = Array.from({ length: until - since.version + 1 }, (_, index) => since.version + index);
    const parsed = parseChannel(channel);
    return [...new Set([...earlier, ...newer.slice(0, MAX_RELEASES)])].map(
      (version) => [releaseValue(channel, version), parsed] as const,
    );
  });
  return new Map(values);
};

/**
 * Reads when each agent imported the first release of the candidate, and whether it reported a failure or drift since.
 * @returns one for each agent, in their order
 */
export const readHistory = async (
  db: Database,
  agents: readonly ImportingAgent[],
  channels: readonly ChannelFacts[],
): Promise<readonly AgentHistory[]> => {
  const earliest = channels.flatMap(({ since }) => since?.issuedAt ?? []).toSorted()[0];
  const [imports, faults] = await Promise.all([
    readImports(db, agents, channels),
    earliest === undefined ? [] : readFaults(db, earliest),
  ]);
  const faulted = Map.groupBy(faults, ({ agent }) => agent);
  return agents.map(({ id, life, online_at: onlineAt, follower, imported_seq: seq }, at) => ({
    imported: imports[at],
    faulted:
      seq !== null && (faulted.get(id)?.some((fault) => fault.life === life && fault.seq > seq) ?? false),
    online: onlineAt !== null || follower !== null,
  }));
};

/** An import, by the life of the agent and the number of its event. */
type Remembered = { readonly life: number; readonly seq: number; readonly imported: Stated };

/** A row of the history is written once and never changed, so only those that no earlier question read are looked up. */
const memos = new WeakMap<Database, Map<string, readonly Remembered[]>>();
/** Candidates for each agent. */
const MAX_REMEMBERED = 4;

const readImports = async (
  db: Database,
  agents: readonly ImportingAgent[],
  channels: readonly ChannelFacts[],
): Promise<readonly (Stated | undefined)[]> => {
  const memo = memos.get(db) ?? new Map<string, readonly Remembered[]>();
  memos.set(db, memo);
  const recall = ({ id, life, imported_seq: seq }: ImportingAgent): Stated | undefined =>
    memo.get(id)?.find((one) => one.seq === seq && one.life === life)?.imported;
  const known = agents.map(recall);
  const missing = agents.filter((agent, at) => agent.imported_seq !== null && !known[at]);
  if (missing.length === 0) return known;
  for (const [id, found] of await lookUp(db, [...importValues(channels, agents).keys()], missing))
    memo.set(id, [found, ...(memo.get(id) ?? [])].slice(0, MAX_REMEMBERED));
  return agents.map((agent, at) => known[at] ?? recall(agent));
};

/** These first imports, if their reports are there. */
const lookUp = async (
  db: Database,
  values: readonly string[],
  agents: readonly ImportingAgent[],
): Promise<ReadonlyMap<string, Remembered>> => {
  const missing = new Map(agents.map((agent) => [agent.id, agent]));
  const found = new Map<string, Remembered>();
  for (const part of parts(values)) {
    let query = db
      .selectFrom('history')
      .innerJoin('report', (join) =>
        join
          .onRef('report.agent', '=', 'history.agent')
          .onRef('report.life', '=', 'history.life')
          .onRef('report.digest', '=', 'history.report'),
      )
      .select([
        'history.agent',
        'history.life',
        'history.seq',
        'history.observed_at as at',
        'history.received_at as receivedAt',
        'report.clock_trusted',
      ])
      .where(sql<boolean>`history.field = 'release'`)
      .where('history.value', 'in', part);
    if (missing.size <= PART) query = query.where('history.agent', 'in', [...missing.keys()]);
    for (const { agent, life, seq, at, receivedAt, clock_trusted: trusted } of await query.execute()) {
      const wanted = missing.get(agent);
      if (wanted?.imported_seq === seq && wanted.life === life)
        found.set(agent, { life, seq, imported: { at, receivedAt, clockTrusted: trusted === 1 } });
    }
  }
  return found;
};

/** Failures, rollbacks and drift with a stated time from `earliest` on, of all agents: they are few. */
const readFaults = (
  db: Database,
  earliest: string,
): Promise<readonly { readonly agent: string; readonly life: number; readonly seq: number }[]> =>
  db
    .selectFrom('event')
    .select(['agent', 'life', 'seq'])
    .where('at', '>=', earliest)
    // As in the index, which is only of these events.
    .where(sql<boolean>`(outcome = 'failed' or type in ('drift', 'rolled-back'))`)
    .execute();
