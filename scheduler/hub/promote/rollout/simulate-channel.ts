import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { type Channel, sameChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import { requireCurrentRollout } from '../../../release/rollout/carry-out.ts';
import type { Hub } from '../../hub.ts';
import { readActual } from '../../questions/state/read-actual.ts';
import { type Simulation, simulateRollout } from './simulate-rollout.ts';

export type SimulatedChannel = Simulation & {
  /** Digest of the plan. */
  readonly plan: Digest;
  /** Number of agents of the channel. */
  readonly agents: number;
};

/**
 * Simulates the rollout of a channel with its agents, from its start on.
 * @throws FleetError ROLLOUT_MISSING, MEDIUM_MISSING; the codes of readAuditLog
 */
export const simulateChannel = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  channel: Channel,
  now: Date,
): Promise<SimulatedChannel> => {
  const { stored, progress } = await requireCurrentRollout(
    await openLayout(hub.layout),
    hub.keys,
    channel,
    now,
  );
  const { agents } = await readActual(hub.store.db, { environment: channel.environment }, now);
  const mine = agents.filter((agent) => sameChannel(agent.channel, channel));
  const [started] = progress.started;
  const simulation = simulateRollout(stored.plan, mine, started === undefined ? now : parseTime(started));
  return { plan: stored.digest, agents: mine.length, ...simulation };
};
