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
  const imports = new Map<string, Stated & { readonly seq: number }>();
  for (const { channel, since } of channels)
    if (since) for (const one of await readImports(db, channel, since.version)) imports.set(one.agent, one);
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

type Import = Stated & { readonly agent: string; readonly seq: number };

/** Numbers that are looked up beyond the first release of the candidate: agents name what they like. */
const MAX_RELEASES = 500;

/** The first import of each agent of a channel, in its current life, of a release from `since` on. */
const readImports = async (db: Database, channel: string, since: number): Promise<readonly Import[]> => {
  const accepted = await db
    .selectFrom('agent')
    .select('release_version as version')
    .distinct()
    .where('release_channel', '=', channel)
    .where('release_version', '>=', since)
    .execute();
  const newest = accepted.flatMap(({ version }) => version ?? []).toSorted((a, b) => a - b);
  const until = Math.min(newest.at(-1) ?? since, since + MAX_RELEASES);
  const earlier = Array.from({ length: until - since + 1 }, (_, index) => since + index);
  const values = [...new Set([...earlier, ...newest.slice(0, MAX_RELEASES)])].map((version) =>
    releaseValue(channel, version),
  );
  // The history has a row for each release that an agent changed to. The index is only of these rows.
  const first = db
    .selectFrom('history')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'history.agent').onRef('agent.life', '=', 'history.life'),
    )
    .select(({ fn }) => ['history.agent', 'history.life', fn.min('history.seq').as('seq')])
    .where(sql<boolean>`history.field = 'release'`)
    .where('history.value', 'in', values)
    .where('agent.revoked_at', 'is', null)
    .groupBy(['history.agent', 'history.life']);
  const rows = await db
    .selectFrom(first.as('first'))
    .innerJoin('history', (join) =>
      join
        .onRef('history.agent', '=', 'first.agent')
        .on('history.assignment', '=', '')
        .on('history.field', '=', 'release')
        .onRef('history.life', '=', 'first.life')
        .onRef('history.seq', '=', 'first.seq'),
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
    .execute();
  return rows.map(({ clock_trusted: trusted, ...row }) => ({ ...row, clockTrusted: trusted === 1 }));
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
