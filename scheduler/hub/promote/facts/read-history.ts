import { sql } from 'kysely';
import { type Channel, parseChannel } from '#bundles/names';
import { releaseValue } from '../../ingest/reports/facts.ts';
import type { AgentRow, Database } from '../../store/tables.ts';
import type { AgentHistory, Stated } from './agent-facts.ts';
import type { ChannelFacts } from './facts.ts';

type Agent = Pick<
  AgentRow,
  | 'id'
  | 'environment'
  | 'cluster_type'
  | 'life'
  | 'online_at'
  | 'follower'
  | 'release_channel'
  | 'release_version'
>;

/**
 * Reads from the events of an environment's agents when each imported the first release of the candidate, and whether it reported
 * a failure or drift since. By '<site>/<agent>'; agents without an entry reported nothing.
 */
export const readHistory = async (
  db: Database,
  agents: readonly Agent[],
  channels: readonly ChannelFacts[],
): Promise<ReadonlyMap<string, AgentHistory>> => {
  const earliest = channels.flatMap(({ since }) => since?.issuedAt ?? []).toSorted()[0];
  const [imports, faults] = await Promise.all([
    readImports(db, channels, agents),
    earliest === undefined ? [] : readFaults(db, earliest),
  ]);
  const faulted = Map.groupBy(faults, ({ agent }) => agent);
  return new Map(
    agents.map(({ id, life, online_at: onlineAt, follower }) => {
      const imported = imports.get(id);
      const after = imported?.seq ?? Number.POSITIVE_INFINITY;
      const isFaulted = faulted.get(id)?.some((fault) => fault.life === life && fault.seq > after) ?? false;
      return [id, { imported, faulted: isFaulted, online: onlineAt !== null || follower !== null }];
    }),
  );
};

type Import = Stated & { readonly seq: number };

/** Upper bound on release numbers looked up beyond the first release of the candidate, because agents can report any number. */
const MAX_RELEASES = 500;

/** Values in the history of agents that changed to the first release of the candidate or to a later one, each with its channel. */
type Values = ReadonlyMap<string, Channel>;

const importValues = (channels: readonly ChannelFacts[], agents: readonly Agent[]): Values => {
  const released = channels.flatMap(({ channel, since }) => (since ? [{ channel, since }] : []));
  const accepted = new Map(released.map(({ channel }) => [channel, new Set<number>()]));
  for (const { release_channel: channel, release_version: version } of agents)
    if (channel !== null && version !== null) accepted.get(channel)?.add(version);
  const values = released.flatMap(({ channel, since }) => {
    const newest = [...(accepted.get(channel) ?? [])]
      .filter((version) => version >= since.version)
      .toSorted((a, b) => a - b);
    const until = Math.min(newest.at(-1) ?? since.version, since.version + MAX_RELEASES);
    const earlier = Array.from({ length: until - since.version + 1 }, (_, index) => since.version + index);
    const parsed = parseChannel(channel);
    return [...new Set([...earlier, ...newest.slice(0, MAX_RELEASES)])].map(
      (version) => [releaseValue(channel, version), parsed] as const,
    );
  });
  return new Map(values);
};

/** Values or names per IN, below the parameter limits of the databases. */
const VALUES = 500;

/** The first import of each agent, in its current life, of a release of its channel that has the candidate. */
const readImports = async (
  db: Database,
  channels: readonly ChannelFacts[],
  agents: readonly Agent[],
): Promise<ReadonlyMap<string, Import>> => {
  const values = importValues(channels, agents);
  const known: Known = new Map(agents.map((agent) => [agent.id, agent]));
  const memo = memos.get(db) ?? new Map<string, readonly Remembered[]>();
  memos.set(db, memo);
  const imports = new Map<string, Import>();
  const missing = new Map<string, number>();
  for (const [id, seq] of await findFirsts(db, values, known)) {
    const life = known.get(id)?.life;
    const before = memo.get(id)?.find((one) => one.life === life && one.seq === seq);
    if (before) imports.set(id, before.imported);
    else missing.set(id, seq);
  }
  for (const [id, imported] of await lookUp(db, values, known, missing)) {
    imports.set(id, imported);
    const [life, seq] = [known.get(id)?.life, missing.get(id)];
    if (life !== undefined && seq !== undefined)
      memo.set(id, [{ life, seq, imported }, ...(memo.get(id) ?? [])].slice(0, MAX_REMEMBERED));
  }
  return imports;
};

type Known = ReadonlyMap<string, Agent>;

/** An import, by the life of the agent and the number of its event. */
type Remembered = { readonly life: number; readonly seq: number; readonly imported: Import };

/** A row of the history is written once and never changed, so only those that no earlier question read are looked up. */
const memos = new WeakMap<Database, Map<string, readonly Remembered[]>>();
/** Candidates for each agent. */
const MAX_REMEMBERED = 4;

/** Numbers of the events of the first imports. The index alone has the answer. */
const findFirsts = async (
  db: Database,
  values: Values,
  known: Known,
): Promise<ReadonlyMap<string, number>> => {
  const firsts = new Map<string, number>();
  const names = [...values.keys()];
  for (let start = 0; start < names.length; start += VALUES) {
    const rows = await db
      .selectFrom('history')
      .select(['agent', 'life', 'seq', 'value'])
      .where(sql<boolean>`field = 'release'`)
      .where('value', 'in', names.slice(start, start + VALUES))
      .execute();
    for (const row of rows)
      if (isImport(row, values, known) && row.seq < (firsts.get(row.agent) ?? Number.POSITIVE_INFINITY))
        firsts.set(row.agent, row.seq);
  }
  return firsts;
};

/** The first imports of these agents whose reports are there. */
const lookUp = async (
  db: Database,
  values: Values,
  known: Known,
  missing: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, Import>> => {
  const imports = new Map<string, Import>();
  if (missing.size === 0) return imports;
  const names = [...values.keys()];
  for (let start = 0; start < names.length; start += VALUES) {
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
        'history.value',
        'history.seq',
        'history.observed_at as at',
        'history.received_at as receivedAt',
        'report.clock_trusted',
      ])
      .where(sql<boolean>`history.field = 'release'`)
      .where('history.value', 'in', names.slice(start, start + VALUES));
    if (missing.size <= VALUES) query = query.where('history.agent', 'in', [...missing.keys()]);
    for (const row of await query.execute()) {
      const { agent, seq, at, receivedAt, clock_trusted: trusted } = row;
      if (!missing.has(agent) || !isImport(row, values, known)) continue;
      if (seq < (imports.get(agent)?.seq ?? Number.POSITIVE_INFINITY))
        imports.set(agent, { seq, at, receivedAt, clockTrusted: trusted === 1 });
    }
  }
  return imports;
};

/** Whether a row is of the agent's current life and channel: an agent that moved here may have imported a release before. */
const isImport = (
  { agent, life, value }: { readonly agent: string; readonly life: number; readonly value: string | null },
  values: Values,
  agents: Known,
): boolean => {
  const known = agents.get(agent);
  const channel = value === null ? undefined : values.get(value);
  return (
    known !== undefined &&
    channel !== undefined &&
    life === known.life &&
    channel.environment === known.environment &&
    channel.clusterType === known.cluster_type
  );
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
