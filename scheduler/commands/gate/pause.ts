import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { pauseOrResume } from '../../hub/promote/decide/decide-about.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { decisionFlags, linkFlags, openGate, personOf } from './open-gate.ts';

export default class Pause extends FleetCommand {
  static override description = `Pauses promotions to an environment of the chain, until \`resume\`.

Nothing is promoted there meanwhile, neither by a person nor by the policy; what was promoted before is still built. Rollouts there
do not advance automatically. The pause is signed into the audit log.`;
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking"'];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that promotions go to' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    reason: Flags.string({ required: true, description: 'Why; it is signed into the audit log' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Pause);
    const now = this.readNow(flags.now);
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const wish = {
      environment: args.environment,
      person: personOf(flags),
      reason: flags.reason,
      now,
      signal: this.signal,
    };
    const decided = await pauseOrResume(gate, 'pause', wish);
    const { from, to, outcome, paused } = decided;
    this.log(
      outcome === 'decided'
        ? `${to}: promotions from ${from} are paused`
        : `${to}: nothing was written, it already is ${paused}`,
    );
    return decided;
  }
}
