import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { parseChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readCandidate } from '../../../assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../../assemble/candidate/shared-digest.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import { readCurrentRollout, type CurrentRollout } from '../../../release/rollout/carry-out.ts';
import type { GateHub } from '../gate/gate-hub.ts';
import type { DecisionRequest } from './chain.ts';

export type StageRequest = Pick<DecisionRequest, 'environment' | 'now' | 'signal'> & {
  readonly stage: string;
  readonly candidate: Digest | undefined;
};

/**
 * The candidate whose rollout waits for an approval of a stage: the environment's own candidate, which the rollout's plan
 * names.
 * @throws FleetError ROLLOUT_MISSING without a rollout in the environment; USAGE for a stage that no rollout has, or that has
 *   begun, and for several candidates of which none is named
 */
export const stageToApprove = async (
  { keys, layout: directory }: GateHub,
  { environment, stage, candidate, now, signal }: StageRequest,
): Promise<Lineage> => {
  const layout = await openOrStartLayout(directory);
  const rollouts: CurrentRollout[] = [];
  for (const channel of channelsIn(layout).map(parseChannel)) {
    if (channel.environment !== environment) continue;
    const rolling = await readCurrentRollout(layout, keys, channel, now);
    if (rolling && !rolling.progress.takenBack && !rolling.progress.isComplete) rollouts.push(rolling);
  }
  if (rollouts.length === 0)
    throw new FleetError('ROLLOUT_MISSING', `no release of ${environment} is in a rollout`, {
      subject: environment,
      hint: `Without --stage the promotion to ${environment} is approved`,
    });
  const known = [...new Set(rollouts.flatMap(({ stored }) => stored.plan.stages.map(({ name }) => name)))];
  if (!known.includes(stage))
    throw new FleetError('USAGE', `no rollout of ${environment} has a stage ${stage}`, {
      subject: environment,
      hint: `${didYouMean(stage, known) ?? ''}They have ${known.join(', ')}`,
    });
  const ahead = rollouts.filter(
    ({ stored, progress }) =>
      stored.plan.stages.findIndex(({ name }) => name === stage) >= progress.started.length,
  );
  const candidates = [...new Set(ahead.map(({ stored }) => stored.plan.candidate))];
  if (candidates.length === 0)
    throw new FleetError('USAGE', `stage ${stage} has begun, so it needs no approval`, {
      subject: environment,
      hint: 'See fleet-scheduler rollout status',
    });
  const chosen = candidate ?? (candidates.length === 1 ? candidates[0] : undefined);
  if (chosen === undefined || !candidates.includes(chosen))
    throw new FleetError(
      'USAGE',
      chosen === undefined
        ? `${candidates.length} candidates wait for stage ${stage}`
        : `no rollout of this candidate waits for stage ${stage}`,
      { subject: environment, hint: `Name one: ${candidates.map((one) => `--candidate ${one}`).join(', ')}` },
    );
  const { document } = await readCandidate(chosen, [layout.blobs], signal);
  return { candidate: chosen, shared: sharedDigest(document) };
};
