import { endHandling } from '../../hub/alarms/handle-alarms.ts';
import { HandleCommand } from './handle-command.ts';

export default class AlarmsEnd extends HandleCommand {
  static override description = 'Take back the acknowledgements and the silence of an alarm or cause.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --reason "line 3 is back"',
  ];

  async run(): Promise<unknown> {
    // The class that has them: oclif does not see inherited `args`.
    const { args, flags } = await this.parse(HandleCommand);
    return await this.handle(args.target, flags, this.readNow(flags.now), {
      command: 'alarms end',
      work: endHandling,
      describe: ({ kind, cause }) => `${kind} ${cause}`.trim() + ' has notices again',
    });
  }
}
