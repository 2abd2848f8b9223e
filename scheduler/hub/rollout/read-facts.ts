import { formatChannel, sameChannel, type Channel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../hub.ts';
import { readActual } from '../status/read-actual.ts';
import { readDesired } from '../status/read-desired.ts';
import { isFailed, type Row, whatRunsWhere } from '../status/what-runs-where.ts';
import type { AgentFact } from './judge-rollout.ts';

/** What the hub knows about the agents of a channel, against the channel's current release. */
export const readFacts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  channel: Channel,
  /** When the rollout started: failures before do not count. */
  start: Timestamp,
  now: Date,
): Promise<readonly AgentFact[]> => {
  const { agents } = await readActual(hub.store.db, { environment: channel.environment }, now);
  const mine = agents.filter((agent) => sameChannel(agent.channel, channel));
  const desired = await readDesired(hub.layout, [channel], hub.keys.root);
  const rows = Map.groupBy(whatRunsWhere(desired, mine, now), ({ site, agent }) => `${site}/${agent}`);
  const wanted = desired.get(formatChannel(channel));
  const packages = wanted?.kind === 'release' ? wanted.packages : new Map();
  return mine.map(({ site, agent, labels, enrolledAt, heardAt }) => ({
    site,
    agent,
    labels,
    enrolledAt,
    heardAt,
    state: stateOf(rows.get(`${site}/${agent}`) ?? [], packages, start),
  }));
};

const stateOf = (
  rows: readonly Row[],
  packages: ReadonlyMap<string, unknown>,
  start: Timestamp,
): AgentFact['state'] => {
  for (const { assignment, health } of rows) {
    if (!health || assignment === null || !packages.has(assignment) || !isFailed(health)) continue;
    const at = knownAt(health);
    if (at >= start)
      return { kind: 'failed', at, why: `${assignment}: ${health.message ?? health.code ?? 'it failed'}` };
  }
  const times: Timestamp[] = [];
  for (const { assignment, verdict, running, health } of rows) {
    if (verdict !== 'complies') return { kind: 'pending', why: why(assignment, verdict) };
    if (assignment === null) continue;
    // What an earlier package's check said is not the health of what runs now.
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
