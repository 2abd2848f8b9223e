import type { Digest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import type { Hub } from '../../hub.ts';
import { type CurvePoint, curveOf } from './rollout-curve.ts';
import type { RolloutVerdict } from './judge-rollout.ts';
import { assessRollouts } from './step-rollout.ts';

export type ListedRollout = RolloutVerdict & {
  readonly channel: string;
  /** Number of the release. */
  readonly release: number;
  /** The release of agents that no stage has selected yet, to which a take-back leads; null: the channel had no release before. */
  readonly before: number | null;
  /** Digest of the plan, and the name of its policy. */
  readonly plan: Digest;
  readonly policy: string;
  readonly curve: readonly CurvePoint[];
};

/** The rollouts of these channels, judged now. Channels whose release reached all agents at once are left out. */
export const listRollouts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  channels: readonly Channel[],
  now: Date,
): Promise<readonly ListedRollout[]> => {
  const judged = await assessRollouts(hub, { open: () => openLayout(hub.layout) }, channels, now);
  return judged.map(({ rolling: { channel, stored, release, progress }, compliant, verdict }) => ({
    channel: formatChannel(channel),
    release: release.predicate.version,
    before: stored.plan.before?.version ?? null,
    plan: stored.digest,
    policy: stored.plan.policy,
    curve: curveOf(compliant, progress.started[0], now),
    ...verdict,
  }));
};
