import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { type Paused, pauseOrResume } from '../../hub/promote/decide/decide-about.ts';
import { decideAbout, decisionFlags, linkFlags } from './open-gate.ts';
import { reasonFlag } from '../person-flags.ts';

/** Pausing and resuming take the same arguments and are signed as the same kind of decision. */
abstract class PauseCommand extends FleetCommand {
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that promotions go to' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    reason: reasonFlag,
  };
  protected abstract readonly decision: Paused['decision'];

  async run(): Promise<Paused> {
    // The class that has them: oclif does not see inherited `args`.
    const { args, flags } = await this.parse(PauseCommand);
    const at = { now: this.readNow(flags.now), signal: this.signal };
    const decided = await decideAbout(args.environment, flags, at, (gate, request) =>
      pauseOrResume(gate, this.decision, request),
    );
    this.log(describePaused(decided));
    return decided;
  }
}

export class Pause extends PauseCommand {
  static override description = `Pauses promotions to an environment of the chain, until \`resume\`.

Nothing is promoted there meanwhile, neither by a person nor by the policy; what was promoted before is still built. Rollouts there
do not advance automatically. The pause is signed into the audit log.`;
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking"'];
  protected override readonly decision = 'pause';
}

export class Resume extends PauseCommand {
  static override description = `Resumes promotions to an environment of the chain after \`pause\`.

Its gate is judged as before: a pause changes no condition. It is signed into the audit log.`;
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking is done"'];
  protected override readonly decision = 'resume';
}

/** 'prod: promotions from qa are paused', or why nothing was written. */
const describePaused = ({ decision, from, to, outcome, paused }: Paused): string => {
  if (outcome === 'decided') return `${to}: promotions from ${from} are ${decision}d`;
  return decision === 'pause'
    ? `${to}: nothing was written, it already is ${paused}`
    : `${to} is not paused; nothing was written`;
};
