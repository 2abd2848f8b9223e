import { parseJson } from '#bundles/json/parse-json';
import type { Event } from '#bundles/formats/events/event';
import { formatChannel } from '#bundles/names';
import type { Database } from '../store/tables.ts';
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
  const sinceOf = new Map(channels.map(({ channel, since }) => [channel, since]));
  const agents = await db
    .selectFrom('agent')
    .select(['id', 'environment', 'cluster_type', 'online_at'])
    .where('environment', '=', environment)
    .where('revoked_at', 'is', null)
    .execute();
  const earliest = channels.flatMap(({ since }) => since?.issuedAt ?? []).toSorted()[0];
  const imports = Map.groupBy(await readImports(db, environment), ({ agent }) => agent);
  const faults = earliest === undefined ? [] : await readFaults(db, environment, earliest);
  const faulted = Map.groupBy(faults, ({ agent }) => agent);
  return new Map(
    agents.map(({ id, environment: name, cluster_type: clusterType, online_at: onlineAt }) => {
      const channel = formatChannel({ environment: name, clusterType });
      const since = sinceOf.get(channel);
      const imported = since
        ? imports
            .get(id)
            ?.find(({ release }) => release.channel === channel && release.version >= since.version)
        : undefined;
      return [
        id,
        {
          imported,
          faulted: faulted.get(id)?.some(({ seq }) => imported !== undefined && seq > imported.seq) ?? false,
          online: onlineAt !== null,
        },
      ];
    }),
  );
};

type Import = Stated & {
  readonly agent: string;
  readonly seq: number;
  readonly release: { readonly channel: string; readonly version: number };
};

/** Imports of the agents' current lives, oldest first. */
const readImports = async (db: Database, environment: string): Promise<readonly Import[]> => {
  const rows = await db
    .selectFrom('event')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'event.agent').onRef('agent.life', '=', 'event.life'),
    )
    .innerJoin('report', (join) =>
      join
        .onRef('report.agent', '=', 'event.agent')
        .onRef('report.life', '=', 'event.life')
        .onRef('report.digest', '=', 'event.report'),
    )
    .select([
      'event.agent',
      'event.seq',
      'event.at',
      'event.line',
      'report.received_at',
      'report.clock_trusted',
    ])
    .where('agent.environment', '=', environment)
    .where('agent.revoked_at', 'is', null)
    .where('event.type', '=', 'imported')
    .orderBy('event.seq')
    .execute();
  return rows.flatMap(({ agent, seq, at, line, received_at: receivedAt, clock_trusted: trusted }) => {
    const { release } = parseJson(line) as Event;
    if (!release) return [];
    const named = { channel: formatChannel(release), version: release.version };
    return [{ agent, seq, at, receivedAt, clockTrusted: trusted === 1, release: named }];
  });
};

/** Failures, rollbacks and drift with a stated time from `earliest` on. */
const readFaults = (
  db: Database,
  environment: string,
  earliest: string,
): Promise<readonly { readonly agent: string; readonly seq: number }[]> =>
  db
    .selectFrom('event')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'event.agent').onRef('agent.life', '=', 'event.life'),
    )
    .select(['event.agent', 'event.seq'])
    .where('agent.environment', '=', environment)
    .where('agent.revoked_at', 'is', null)
    .where('event.at', '>=', earliest)
    .where(({ or, eb }) =>
      or([eb('event.outcome', '=', 'failed'), eb('event.type', 'in', ['drift', 'rolled-back'])]),
    )
    .execute();
