import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { decide, describeDecided, rolloutFlags } from './decide.ts';

export default class RolloutTakeBack extends FleetCommand {
  static override description =
    'Release the content from before a rollout again, to all agents.\n\nAgents that the rollout has not reached run that content already. The next build does not release the bundle again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "ovens stop"',
  ];
  static override flags = rolloutFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutTakeBack);
    const configuration = await readConfiguration(flags, process.cwd());
    const decided = await decide(configuration, 'take-back', flags, this.readNow(flags.now));
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is void now: ${decided.leaseVoid}`);
    return decided;
  }
}
