import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { isFailed } from '../../../model/event-steps.ts';
import { type KnownAgent, readAgents } from '../../questions/state/read-actual.ts';
import { readDesired } from '../../questions/state/read-desired.ts';
import { readStandings, type Standing, withoutStates } from '../../questions/state/read-standings.ts';
import type { AgentFact } from './judge-rollout.ts';

export type ChannelQuestion = {
  readonly channel: Channel;
  /** Its agents, if they were read before. */
  readonly agents?: readonly KnownAgent[] | undefined;
  readonly now: Date;
};

/**
 * Facts about the agents of a channel, compared with the channel's current release.
 * @param start when the rollout started: failures before do not count
 */
export const readFacts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { channel, agents, now }: ChannelQuestion,
  start: Timestamp,
): Promise<readonly AgentFact[]> => {
  const mine = agents ?? (await readAgents(hub.store.db, channel));
  const desired = await readDesired(hub.layout, [channel], hub.keys.root);
  const standings = await readStandings(hub.store.db, mine, desired, now);
  const wanted = desired.get(formatChannel(channel));
  const packages = wanted?.kind === 'release' ? wanted.packages : new Map();
  const toActual = withoutStates(now);
  return mine.map((row) => {
    const { site, agent, labels, enrolledAt, heardAt } = toActual(row);
    const state = stateOf(standings.get(row.id), packages, start);
    return { site, agent, labels, enrolledAt, heardAt, state };
  });
};

const stateOf = (
  standing: Standing | undefined,
  packages: ReadonlyMap<string, unknown>,
  start: Timestamp,
): AgentFact['state'] => {
  if (standing?.kind === 'complies')
    return packages.size > 0 && standing.checkedAt === null
      ? { kind: 'pending', why: 'not checked yet' }
      : { kind: 'complies', since: standing.checkedAt ?? start };
  const rows = standing?.rows ?? [];
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
