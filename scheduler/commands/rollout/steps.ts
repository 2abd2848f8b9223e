import { Flags } from '@oclif/core';
import { formatError } from '#bundles/errors';
import { parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { type DecidedStep, decideStep, type RolloutStep } from '../../hub/promote/rollout/decide-step.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personOf } from '../person-flags.ts';

const { config, keys, layout } = configurationFlags;

const stepFlags = {
  config,
  keys,
  layout,
  channel: Flags.string({ required: true, description: 'The channel, environment/cluster type' }),
  reason: Flags.string({ required: true, description: 'Reason; it is part of the signed decision' }),
  person: Flags.string({ description: 'Person who decides [default: the name of this user]' }),
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
  const request = { channel: parseChannel(channel), decision, person: personOf(who), reason, now };
  const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
  const decided = await decideStep(keyDirectory, requireSetting(configuration, 'layout'), request);
  return { ...decided, leaseVoid: decided.leaseVoid ? formatError(decided.leaseVoid) : null };
};

/** 'prod/kiosk: advance quarter, release 8' */
export const describeDecided = ({ channel, decision, outcome, stage, release }: Decided): string =>
  outcome === 'unchanged'
    ? `${channel}: its rollout is ${decision === 'pause' ? 'paused already' : 'not paused'}; nothing was written`
    : `${channel}: ${decision}${stage === null ? '' : ` ${stage}`}${release === null ? '' : `, release ${release}`}`;

/** A person's decision about the rollout of one channel: the same flags, one decision a command. */
abstract class StepCommand extends FleetCommand {
  static override flags = stepFlags;
  protected abstract readonly step: RolloutStep;

  async run(): Promise<Decided> {
    const { flags } = await this.parse(StepCommand);
    const configuration = await readConfiguration(flags, process.cwd());
    const decided = await decide(configuration, this.step, flags, this.readNow(flags.now));
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is now void: ${decided.leaseVoid}`);
    return decided;
  }
}

export class RolloutAdvance extends StepCommand {
  static override description =
    'Begin the next stage of a rollout now, without waiting for its conditions.\n\nThe release is issued again under the next number and reaches the agents of that stage, too.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "checked by phone"',
  ];
  protected override readonly step = 'advance';
}

export class RolloutPause extends StepCommand {
  static override description =
    'Pause a rollout: no further stage begins until it is resumed.\n\nAgents that it has reached keep the release.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "night shift"',
  ];
  protected override readonly step = 'pause';
}

export class RolloutResume extends StepCommand {
  static override description =
    'Resume a rollout that was paused, or that stopped because agents failed.\n\nFailures that are known now do not stop it again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "oven 3 was repaired"',
  ];
  protected override readonly step = 'resume';
}

export class RolloutTakeBack extends StepCommand {
  static override description =
    'Release the content from before a rollout again, to all agents.\n\nAgents that the rollout has not reached run that content already. The next build does not release the bundle again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "ovens stop"',
  ];
  protected override readonly step = 'take-back';
}
