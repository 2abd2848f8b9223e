import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { decide, describeDecided, rolloutFlags } from './decide.ts';

export default class RolloutAdvance extends FleetCommand {
  static override description =
    'Begin the next stage of a rollout now, without waiting for its conditions.\n\nThe release is issued again under the next number and reaches the agents of that stage, too.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "checked by phone"',
  ];
  static override flags = rolloutFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutAdvance);
    const configuration = await readConfiguration(flags, process.cwd());
    const decided = await decide(configuration, 'advance', flags, this.readNow(flags.now));
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is void now: ${decided.leaseVoid}`);
    return decided;
  }
}
