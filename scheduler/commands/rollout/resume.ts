import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { decide, describeDecided, rolloutFlags } from './decide.ts';

export default class RolloutResume extends FleetCommand {
  static override description =
    'Resume a rollout that was paused, or that stopped because agents failed.\n\nFailures that are known now do not stop it again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "oven 3 was repaired"',
  ];
  static override flags = rolloutFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutResume);
    const configuration = await readConfiguration(flags, process.cwd());
    const decided = await decide(configuration, 'resume', flags, this.readNow(flags.now));
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is void now: ${decided.leaseVoid}`);
    return decided;
  }
}
