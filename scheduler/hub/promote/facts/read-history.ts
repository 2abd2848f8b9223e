import { sql } from 'kysely';
import { formatChannel } from '#bundles/names';
import { channelOf } from '../../sites/agent-record.ts';
import { releaseValue } from '../../ingest/reports/facts.ts';
import type { AgentRow, Database } from '../../store/tables.ts';
import type { AgentHistory, Stated } from './agent-facts.ts';
import type { ChannelFacts } from './facts.ts';

type Agent = Pick<AgentRow, 'id' | 'environment' | 'cluster_type' | 'life' | 'online_at' | 'follower'>;

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
  const imports = await readImports(db, channels, agents);
  const faults = earliest === undefined ? [] : await readFaults(db, earliest);
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

/** The values in the history of agents that changed to the first release of the candidate or to a later one of its channel. */
const importValues = async (db: Database, channels: readonly ChannelFacts[]): Promise<readonly string[]> => {
  const released = channels.flatMap(({ channel, since }) => (since ? [{ channel, since }] : []));
  if (released.length === 0) return [];
  const rows = await db
    .selectFrom('agent')
    .select(['release_channel', 'release_version'])
    .distinct()
    .where(
      'release_channel',
      'in',
      released.map(({ channel }) => channel),
    )
    .execute();
  const accepted = Map.groupBy(rows, (row) => row.release_channel);
  return released.flatMap(({ channel, since }) => {
    const newest = (accepted.get(channel) ?? [])
      .flatMap(({ release_version: version }) => version ?? [])
      .filter((version) => version >= since.version)
      .toSorted((a, b) => a - b);
    const until = Math.min(newest.at(-1) ?? since.version, since.version + MAX_RELEASES);
    const earlier = Array.from({ length: until - since.version + 1 }, (_, index) => since.version + index);
    return [...new Set([...earlier, ...newest.slice(0, MAX_RELEASES)])].map((version) =>
      releaseValue(channel, version),
    );
  });
};

/** Values or names per IN, below the parameter limits of the databases. */
const VALUES = 500;

/** The first import of each agent, in its current life, of a release of its channel that has the candidate. */
const readImports = async (
  db: Database,
  channels: readonly ChannelFacts[],
  agents: readonly Agent[],
): Promise<ReadonlyMap<string, Import>> => {
  const values = await importValues(db, channels);
  const lives: Lives = new Map(
    agents.map((agent) => [agent.id, { life: agent.life, prefix: `${formatChannel(channelOf(agent))} ` }]),
  );
  const memo = memos.get(db) ?? new Map<string, readonly Remembered[]>();
  memos.set(db, memo);
  const imports = new Map<string, Import>();
  const missing = new Map<string, Omit<Remembered, 'imported'>>();
  for (const [id, first] of await findFirsts(db, values, lives)) {
    const known = memo.get(id)?.find(({ life, seq }) => life === first.life && seq === first.seq);
    if (known) imports.set(id, known.imported);
    else missing.set(id, first);
  }
  for (const [id, imported] of await lookUp(db, values, lives, missing)) {
    imports.set(id, imported);
    const first = missing.get(id);
    if (first) memo.set(id, [{ ...first, imported }, ...(memo.get(id) ?? [])].slice(0, MAX_REMEMBERED));
  }
  return imports;
};

/** By agent: its current life, and how values of its channel begin. It may have imported a release in an earlier channel. */
type Lives = ReadonlyMap<string, { readonly life: number; readonly prefix: string }>;

/** An import, by the life of the agent and the number of its event. */
type Remembered = { readonly life: number; readonly seq: number; readonly imported: Import };

/** A row of the history is written once and never changed, so only those that no earlier question read are looked up. */
const memos = new WeakMap<Database, Map<string, readonly Remembered[]>>();
/** Candidates for each agent. */
const MAX_REMEMBERED = 4;

/** Numbers of the events of the first imports. The index alone has the answer. */
const findFirsts = async (
  db: Database,
  values: readonly string[],
  lives: Lives,
): Promise<ReadonlyMap<string, Omit<Remembered, 'imported'>>> => {
  const firsts = new Map<string, Omit<Remembered, 'imported'>>();
  for (let start = 0; start < values.length; start += VALUES) {
    const rows = await db
      .selectFrom('history')
      .select(['agent', 'life', 'seq', 'value'])
      .where(sql<boolean>`field = 'release'`)
      .where('value', 'in', values.slice(start, start + VALUES))
      .execute();
    for (const row of rows)
      if (isImport(row, lives) && row.seq < (firsts.get(row.agent)?.seq ?? Number.POSITIVE_INFINITY))
        firsts.set(row.agent, { life: row.life, seq: row.seq });
  }
  return firsts;
};

/** The first imports of these agents whose reports are there. */
const lookUp = async (
  db: Database,
  values: readonly string[],
  lives: Lives,
  missing: ReadonlyMap<string, unknown>,
): Promise<ReadonlyMap<string, Import>> => {
  const imports = new Map<string, Import>();
  if (missing.size === 0) return imports;
  for (let start = 0; start < values.length; start += VALUES) {
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
      .where('history.value', 'in', values.slice(start, start + VALUES));
    if (missing.size <= VALUES) query = query.where('history.agent', 'in', [...missing.keys()]);
    for (const row of await query.execute()) {
      const { agent, seq, at, receivedAt, clock_trusted: trusted } = row;
      if (!missing.has(agent) || !isImport(row, lives)) continue;
      if (seq < (imports.get(agent)?.seq ?? Number.POSITIVE_INFINITY))
        imports.set(agent, { seq, at, receivedAt, clockTrusted: trusted === 1 });
    }
  }
  return imports;
};

const isImport = (
  { agent, life, value }: { readonly agent: string; readonly life: number; readonly value: string | null },
  lives: Lives,
): boolean => {
  const known = lives.get(agent);
  return known !== undefined && life === known.life && value?.startsWith(known.prefix) === true;
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
