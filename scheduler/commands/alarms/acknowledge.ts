import { Args } from '@oclif/core';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { acknowledgeAlarms } from '../../hub/alarms/handle-alarms.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personOf, reasonFlag } from '../person-flags.ts';

export default class AlarmsAcknowledge extends FleetCommand {
  static override description =
    'Note that you work on an alarm, or on all open alarms of a cause.\n\nReceivers get no repeated notices about them until they are over; a worse severity is still sent.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --reason "replacing the switch"',
  ];
  static override args = {
    target: Args.string({
      required: true,
      description: 'Id of an alarm, or of a cause, as "alarms" shows it',
    }),
  };
  static override flags = { ...hubFlags, person: personFlags.person, reason: reasonFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsAcknowledge);
    const now = this.readNow(flags.now);
    const request = { target: args.target, person: personOf(flags), reason: flags.reason, now };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const handled = await acknowledgeAlarms(hub.store, request);
    this.log(`${formatCount(handled.alarms, 'alarm')} acknowledged: ${handled.kind} ${handled.cause}`.trim());
    for (const line of await appendToLog(hub, 'alarms acknowledge', now)) this.say(line);
    return handled;
  }
}
