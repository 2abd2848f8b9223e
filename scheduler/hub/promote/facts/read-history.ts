import { sql } from 'kysely';
import { releaseValue } from '../../ingest/reports/facts.ts';
import type { Database } from '../../store/tables.ts';
import type { AgentHistory, Stated } from './agent-facts.ts';
import type { ChannelFacts } from './facts.ts';

/**
 * Reads from the events of an environment's agents when each imported the first release of the candidate, and whether it reported
 * a failure or drift since. By '<site>/<agent>'; agents without an entry reported nothing.
 */
export const readHistory = async (
  db: Database,
  environment: string,
  channels: readonly ChannelFacts[],
): Promise<ReadonlyMap<string, AgentHistory>> => {
  const agents = await db
    .selectFrom('agent')
    .select(['id', 'life', 'online_at', 'follower'])
    .where('environment', '=', environment)
    .where('revoked_at', 'is', null)
    .execute();
  const earliest = channels.flatMap(({ since }) => since?.issuedAt ?? []).toSorted()[0];
  const imports = await readImports(db, channels);
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
const importValues = async (db: Database, { channel, since }: ChannelFacts): Promise<readonly string[]> => {
  if (!since) return [];
  const accepted = await db
    .selectFrom('agent')
    .select('release_version as version')
    .distinct()
    .where('release_channel', '=', channel)
    .where('release_version', '>=', since.version)
    .execute();
  const newest = accepted.flatMap(({ version }) => version ?? []).toSorted((a, b) => a - b);
  const until = Math.min(newest.at(-1) ?? since.version, since.version + MAX_RELEASES);
  const earlier = Array.from({ length: until - since.version + 1 }, (_, index) => since.version + index);
  return [...new Set([...earlier, ...newest.slice(0, MAX_RELEASES)])].map((version) =>
    releaseValue(channel, version),
  );
};

/** Values per IN, below the parameter limits of the databases. */
const VALUES = 500;

/** The first import of each agent, in its current life, of a release of its channel that has the candidate. */
const readImports = async (
  db: Database,
  channels: readonly ChannelFacts[],
): Promise<ReadonlyMap<string, Import>> => {
  const values: string[] = [];
  for (const channel of channels) values.push(...(await importValues(db, channel)));
  const imports = new Map<string, Import>();
  for (let start = 0; start < values.length; start += VALUES) {
    // The history has a row for each release that an agent changed to. The index is only of these rows.
    const rows = await db
      .selectFrom('history')
      .innerJoin('agent', (join) =>
        join.onRef('agent.id', '=', 'history.agent').onRef('agent.life', '=', 'history.life'),
      )
      .innerJoin('report', (join) =>
        join
          .onRef('report.agent', '=', 'history.agent')
          .onRef('report.life', '=', 'history.life')
          .onRef('report.digest', '=', 'history.report'),
      )
      .select([
        'history.agent',
        'history.seq',
        'history.observed_at as at',
        'history.received_at as receivedAt',
        'report.clock_trusted',
      ])
      .where(sql<boolean>`history.field = 'release'`)
      .where('history.value', 'in', values.slice(start, start + VALUES))
      .where('agent.revoked_at', 'is', null)
      .execute();
    for (const { agent, clock_trusted: trusted, ...row } of rows)
      if (row.seq < (imports.get(agent)?.seq ?? Number.POSITIVE_INFINITY))
        imports.set(agent, { ...row, clockTrusted: trusted === 1 });
  }
  return imports;
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
