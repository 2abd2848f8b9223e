import { Flags } from '@oclif/core';
import { formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { type DecidedStep, decideStep, type RolloutStep } from '../../hub/promote/rollout/decide-step.ts';
import { type DecidedValuesStep, decideValuesStep } from '../../hub/promote/values/decide-values-step.ts';
import { openHub } from '../../hub/open-hub.ts';
import { writeComposed } from '../../hub/sites/layers/compose-sites.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personOf } from '../person-flags.ts';

const { config, keys, layout, db } = configurationFlags;

const stepFlags = {
  config,
  keys,
  layout,
  db,
  channel: Flags.string({
    description: 'The channel, environment/cluster type',
    exactlyOne: ['channel', 'values'],
  }),
  values: Flags.string({
    description: 'A rollout of values of sites: its first digits, as rollout status shows them',
  }),
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

  async run(): Promise<Decided | DecidedValuesStep> {
    const { flags } = await this.parse(StepCommand);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    if (flags.values !== undefined) return await this.#decideValues(configuration, flags.values, flags, now);
    const decided = await decide(configuration, this.step, { ...flags, channel: flags.channel ?? '' }, now);
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is now void: ${decided.leaseVoid}`);
    return decided;
  }

  async #decideValues(
    configuration: Configuration,
    id: string,
    given: Omit<Given, 'channel'>,
    now: Date,
  ): Promise<DecidedValuesStep> {
    const { reason } = given;
    const person = personOf(given);
    await using hub = await openHub(configuration, { by: { person, reason } });
    const decided = await decideValuesStep(hub, { id, decision: this.step, person, reason, now });
    const command = `rollout ${this.step}`;
    await writeComposed(hub, { now, command });
    for (const line of await appendToLog(hub, command, now)) this.say(line);
    const { rollout, environment, stage, outcome, sites } = decided;
    const what =
      outcome === 'unchanged'
        ? `it is ${this.step === 'pause' ? 'paused already' : 'in that state already'}; nothing was written`
        : `${this.step}${stage === null ? '' : ` ${stage}`}; ${formatCount(sites, 'site')} changed`;
    this.log(`values ${rollout} in ${environment}: ${what}`);
    return decided;
  }
}

export class RolloutAdvance extends StepCommand {
  static override description =
    'Begin the next stage of a rollout now, without waiting for its conditions.\n\nThe release is issued again under the next number and reaches the agents of that stage, too.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "checked by phone"',
    '<%= config.bin %> <%= command.id %> --values 4f0c2a9be1d7 --reason "checked by phone"',
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
    'Release the content from before a rollout again, to all agents; of values, give each site the ones that it had before.\n\nAgents that the rollout has not reached run that content already. The next build does not release the bundle again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "ovens stop"',
  ];
  protected override readonly step = 'take-back';
}
