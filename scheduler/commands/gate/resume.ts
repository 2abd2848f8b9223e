import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { pauseOrResume } from '../../hub/promote/decide/decide-about.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { decisionFlags, linkFlags, openGate, personOf } from './open-gate.ts';

export default class Resume extends FleetCommand {
  static override description = `Resumes promotions to an environment of the chain after \`pause\`.

Its gate is judged as before: a pause changes no condition. It is signed into the audit log.`;
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking is done"'];
  static override args = {
    environment: Args.string({ required: true, description: 'Environment that promotions go to' }),
  };
  static override flags = {
    ...linkFlags,
    ...decisionFlags,
    reason: Flags.string({ required: true, description: 'Why; it is signed into the audit log' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Resume);
    const now = this.readNow(flags.now);
    await using gate = await openGate(await readConfiguration(flags, process.cwd()), this.signal);
    const wish = {
      environment: args.environment,
      person: personOf(flags),
      reason: flags.reason,
      now,
      signal: this.signal,
    };
    const decided = await pauseOrResume(gate, 'resume', wish);
    const { from, to, outcome } = decided;
    this.log(
      outcome === 'decided'
        ? `${to}: promotions from ${from} are resumed`
        : `${to} is not paused; nothing was written`,
    );
    return decided;
  }
}
