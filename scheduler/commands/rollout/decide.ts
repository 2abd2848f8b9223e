import { userInfo } from 'node:os';
import { Flags } from '@oclif/core';
import { formatError } from '#bundles/errors';
import type { DecisionKind } from '#bundles/formats/statements/predicates';
import { type Channel, parseChannel } from '#bundles/names';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { follow } from '../../hub/rollout/step-rollout.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import { openReleases } from '../../release/publish/open-releases.ts';
import { decideRollout } from '../../release/rollout/begin-rollout.ts';
import { type Rolling, requireRolling } from '../../release/rollout/carry-out.ts';

const { config, keys, layout } = configurationFlags;

const channelFlag = Flags.string({ required: true, description: 'The channel, environment/cluster type' });

export const rolloutFlags = {
  config,
  keys,
  layout,
  channel: channelFlag,
  reason: Flags.string({ required: true, description: 'Why; it is part of the signed decision' }),
  person: Flags.string({ description: 'Who decides [default: the name of this user]' }),
};

type Given = {
  readonly channel: string;
  readonly reason: string;
  readonly person?: string | undefined;
};

export type Decided = {
  readonly channel: string;
  readonly decision: DecisionKind;
  readonly stage: string | null;
  /** Number of the release that follows from it; null if none does. */
  readonly release: number | null;
  readonly leaseVoid: string | null;
};

/**
 * Signs a person's decision about the rollout of a channel, appends it to the audit log, and makes the release that follows.
 * @param stageOf the stage that the decision names, from the rollout as it is
 * @throws FleetError ROLLOUT_MISSING, BUSY, KEY_MISSING, and what stageOf throws
 */
export const decide = async (
  configuration: Configuration,
  decision: DecisionKind,
  given: Given,
  now: Date,
  stageOf: (rolling: Rolling) => string | undefined,
): Promise<Decided> => {
  const channel: Channel = parseChannel(given.channel);
  const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
  const directory = requireSetting(configuration, 'layout');
  using releases = await openReleases(directory, { command: `rollout ${decision}`, now });
  const rolling = await requireRolling(await releases.open(), keyDirectory, channel, now);
  const stage = stageOf(rolling);
  const { reason, person = userInfo().username } = given;
  const wish = { decision, person, reason, ...(stage !== undefined && { stage }) };
  await decideRollout(releases, keyDirectory, rolling.stored, wish, now);
  const carried = await follow(keyDirectory, releases, channel, now);
  const [voided] = carried ? (await followWithLeases(releases, keyDirectory, [channel], now)).values() : [];
  return {
    channel: given.channel,
    decision,
    stage: stage ?? null,
    release: carried?.version ?? null,
    leaseVoid: voided ? formatError(voided) : null,
  };
};

/** 'prod/kiosk: advance quarter, release 8' */
export const describeDecided = ({ channel, decision, stage, release }: Decided): string =>
  `${channel}: ${decision}${stage === null ? '' : ` ${stage}`}${release === null ? '' : `, release ${release}`}`;
