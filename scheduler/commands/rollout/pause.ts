import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { decide, describeDecided, rolloutFlags } from './decide.ts';

export default class RolloutPause extends FleetCommand {
  static override description =
    'Pause a rollout: no further stage begins until it is resumed.\n\nAgents that it has reached keep the release.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --channel prod/kiosk --reason "night shift"',
  ];
  static override flags = rolloutFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutPause);
    const configuration = await readConfiguration(flags, process.cwd());
    const decided = await decide(configuration, 'pause', flags, this.readNow(flags.now));
    this.log(describeDecided(decided));
    if (decided.leaseVoid !== null) this.say(`its lease is void now: ${decided.leaseVoid}`);
    return decided;
  }
}
