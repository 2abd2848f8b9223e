import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { endHandling } from '../../hub/alarms/handle-alarms.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personOf, reasonFlag } from '../person-flags.ts';

export default class AlarmsEnd extends FleetCommand {
  static override description = 'Take back the acknowledgements and the silence of an alarm or cause.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --reason "line 3 is back"',
  ];
  static override args = {
    target: Args.string({
      required: true,
      description: 'Id of an alarm, or of a cause, as "alarms" shows it',
    }),
  };
  static override flags = { ...hubFlags, person: personFlags.person, reason: reasonFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsEnd);
    const now = this.readNow(flags.now);
    const request = { target: args.target, person: personOf(flags), reason: flags.reason, now };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const handled = await endHandling(hub.store, request);
    this.log(`${handled.kind} ${handled.cause}`.trim() + ' has notices again');
    for (const line of await appendToLog(hub, 'alarms end', now)) this.say(line);
    return handled;
  }
}
