import { endHandling } from '../../hub/alarms/handle-alarms.ts';
import { handleArgs, HandleCommand, handleFlags } from './handle-command.ts';

export default class AlarmsEnd extends HandleCommand {
  static override description = 'Take back the acknowledgements and the silence of an alarm or cause.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --reason "line 3 is back"',
  ];
  static override args = handleArgs;
  static override flags = handleFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsEnd);
    return await this.handle(args.target, flags, this.readNow(flags.now), {
      command: 'alarms end',
      work: endHandling,
      describe: ({ kind, cause }) => `${kind} ${cause}`.trim() + ' has notices again',
    });
  }
}
