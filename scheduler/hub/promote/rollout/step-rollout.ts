import { type Channel, formatChannel } from '#bundles/names';
import { createLimit } from '#bundles/transport/publish/limit';
import type { Hub } from '../../hub.ts';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import { decideRollout, type RolloutDecision } from '../../../release/rollout/begin-rollout.ts';
import {
  type CarriedOut,
  carryOut,
  readCurrentRollout,
  type CurrentRollout,
} from '../../../release/rollout/carry-out.ts';
import type { Releases } from '../../../release/write/open-releases.ts';
import { type AgentFact, judgeRollout, type NextStep, type RolloutVerdict } from './judge-rollout.ts';
import { readFacts } from './read-facts.ts';

export type Judged = {
  readonly rolling: CurrentRollout;
  readonly verdict: RolloutVerdict;
  /** Of each stage. */
  readonly compliant: readonly (readonly AgentFact[])[];
};

/** Channels whose files are read at once. */
const AT_ONCE = 8;

/** Judges the rollouts of channels by the facts in the hub. Channels whose release is not in one are left out. */
export const assessRollouts = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  releases: Pick<Releases, 'open'>,
  channels: readonly Channel[],
  now: Date,
): Promise<readonly Judged[]> => {
  const layout = await releases.open();
  const limit = createLimit(AT_ONCE);
  const read = await Promise.all(
    channels.map((channel) => limit(() => readCurrentRollout(layout, hub.keys, channel, now))),
  );
  const rollouts = read.filter((rolling) => rolling !== undefined);
  const started = rollouts.map(({ channel, progress }) => ({ channel, start: progress.started[0] ?? '' }));
  const facts = await readFacts(hub, started, now);
  return rollouts.map((rolling) => {
    const { channel, stored, progress } = rolling;
    const agents = facts.get(formatChannel(channel)) ?? [];
    const { compliant, ...verdict } = judgeRollout(stored.plan, progress, agents, now);
    return { rolling, verdict, compliant };
  });
};

export type Stepped = {
  /** Decision of the policy in this step, if any. */
  readonly decided: NextStep | undefined;
  readonly carried: CarriedOut | undefined;
};

/**
 * One step of a rollout: carries out the decisions that are in the log, judges, and writes and carries out the next decision. A
 * decision is durable before its release is signed.
 * @returns undefined if there was nothing to do
 * @throws FleetError the codes of readCurrentRollout, appendEntry and carryOut
 */
export const stepRollout = async (
  hub: Pick<Hub, 'store' | 'layout'>,
  keys: KeyDirectory,
  releases: Releases,
  channel: Channel,
  now: Date,
): Promise<Stepped | undefined> => {
  const resumed = await follow(keys, releases, channel, now);
  if (resumed) return { decided: undefined, carried: resumed };
  const [judged] = await assessRollouts({ ...hub, keys }, releases, [channel], now);
  if (!judged) return undefined;
  const { stored } = judged.rolling;
  const { next } = judged.verdict;
  switch (next.kind) {
    case 'wait':
    case 'none':
      return undefined;
    case 'complete':
    case 'advance':
    case 'pause':
    case 'take-back':
      await decideRollout(releases, keys, stored, { ...decisionOf(next), person: null }, now);
      return { decided: next, carried: await follow(keys, releases, channel, now) };
  }
};

/** An advance to no stage: the rollout is complete. */
const decisionOf = (
  next: Extract<NextStep, { readonly kind: 'complete' | 'advance' | 'pause' | 'take-back' }>,
): Omit<RolloutDecision, 'person'> => {
  switch (next.kind) {
    case 'complete':
      return { decision: 'advance', reason: 'the last stage is complete' };
    case 'advance':
      return { decision: 'advance', stage: next.stage, reason: 'the stage before it is complete' };
    case 'pause':
    case 'take-back':
      return { decision: next.kind, stage: next.stage, reason: next.why };
  }
};

/** Executes the decisions in the log, and points at the release. */
export const follow = async (
  keys: KeyDirectory,
  releases: Releases,
  channel: Channel,
  now: Date,
): Promise<CarriedOut | undefined> => {
  const layout = await releases.open();
  const rolling = await readCurrentRollout(layout, keys, channel, now);
  const carried = rolling && (await carryOut(layout, keys, rolling, now));
  if (carried) await releases.point(carried.references);
  return carried;
};
