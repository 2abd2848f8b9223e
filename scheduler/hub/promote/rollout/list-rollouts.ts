import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import { type KnownAgent, readAgents } from '../../questions/state/read-actual.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { Database } from '../../store/tables.ts';
import type { RolloutVerdict } from './judge-rollout.ts';
import { assessRollout } from './step-rollout.ts';

export type ListedRollout = RolloutVerdict & {
  readonly channel: string;
  /** Number of the release. */
  readonly release: number;
  /** Digest of the plan, and the name of its policy. */
  readonly plan: Digest;
  readonly policy: string;
};

/** The rollouts of these channels, judged now. Channels whose release reached all agents at once are left out. */
export const listRollouts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  channels: readonly Channel[],
  now: Date,
): Promise<readonly ListedRollout[]> => {
  const agents = await readByChannel(hub.store.db, channels);
  const layout = await openLayout(hub.layout);
  const rollouts: ListedRollout[] = [];
  for (const channel of channels) {
    const judged = await assessRollout(
      hub,
      { open: async () => layout },
      { channel, agents: agents.get(formatChannel(channel)) ?? [], now },
    );
    if (!judged) continue;
    const { stored, release } = judged.rolling;
    rollouts.push({
      channel: formatChannel(channel),
      release: release.predicate.version,
      plan: stored.digest,
      policy: stored.plan.policy,
      ...judged.verdict,
    });
  }
  return rollouts;
};

/** The agents of the channels' environments, by channel: each environment is read once. */
const readByChannel = async (
  db: Database,
  channels: readonly Channel[],
): Promise<ReadonlyMap<string, readonly KnownAgent[]>> => {
  const agents: KnownAgent[] = [];
  for (const environment of new Set(channels.map((channel) => channel.environment)))
    agents.push(...(await readAgents(db, { environment })));
  return Map.groupBy(agents, (agent) => formatChannel(channelOf(agent)));
};
