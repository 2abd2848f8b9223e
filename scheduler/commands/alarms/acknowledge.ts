import { formatCount } from '#bundles/format-count';
import { acknowledgeAlarms } from '../../hub/alarms/handle-alarms.ts';
import { handleArgs, HandleCommand, handleFlags } from './handle-command.ts';

export default class AlarmsAcknowledge extends HandleCommand {
  static override description =
    'Note that you work on an alarm, or on all open alarms of a cause.\n\nReceivers get no repeated notices about them until they are over; a worse severity is still sent.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --reason "replacing the switch"',
  ];
  static override args = handleArgs;
  static override flags = handleFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsAcknowledge);
    return await this.handle(args.target, flags, this.readNow(flags.now), {
      command: 'alarms acknowledge',
      work: acknowledgeAlarms,
      describe: ({ alarms, kind, cause }) =>
        `${formatCount(alarms, 'alarm')} acknowledged: ${kind} ${cause}`.trim(),
    });
  }
}
