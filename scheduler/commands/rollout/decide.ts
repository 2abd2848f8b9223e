import { Flags } from '@oclif/core';
import { formatError } from '#bundles/errors';
import { parseChannel } from '#bundles/names';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { personOf } from '../gate/open-gate.ts';
import { type DecidedStep, decideStep, type RolloutStep } from '../../hub/promote/rollout/decide-step.ts';

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

export type Decided = Omit<DecidedStep, 'leaseVoid'> & { readonly leaseVoid: string | null };

/** @throws FleetError USAGE for a missing setting or a channel's name; the codes of openKeyDirectory and decideStep */
export const decide = async (
  configuration: Configuration,
  decision: RolloutStep,
  { channel, reason, ...who }: Given,
  now: Date,
): Promise<Decided> => {
  const wish = { channel: parseChannel(channel), decision, person: personOf(who), reason, now };
  const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
  const decided = await decideStep(keyDirectory, requireSetting(configuration, 'layout'), wish);
  return { ...decided, leaseVoid: decided.leaseVoid ? formatError(decided.leaseVoid) : null };
};

/** 'prod/kiosk: advance quarter, release 8' */
export const describeDecided = ({ channel, decision, outcome, stage, release }: Decided): string =>
  outcome === 'unchanged'
    ? `${channel}: its rollout is ${decision === 'pause' ? 'paused already' : 'not paused'}; nothing was written`
    : `${channel}: ${decision}${stage === null ? '' : ` ${stage}`}${release === null ? '' : `, release ${release}`}`;
