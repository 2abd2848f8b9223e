import { Flags } from '@oclif/core';
import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { isTime, parseTime } from '#bundles/time';
import { silenceAlarms } from '../../hub/alarms/handle-alarms.ts';
import { handleArgs, HandleCommand, handleFlags } from './handle-command.ts';

export default class AlarmsSilence extends HandleCommand {
  static override description =
    'Stop notices about an alarm, or about all present and later alarms of a cause, until a time.\n\nThe silence ends at that time. Alarms stay visible. A receiver that has an alarm still hears of its end.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --until 4h --reason "line 3 is being rebuilt"',
  ];
  static override args = handleArgs;
  static override flags = {
    ...handleFlags,
    until: Flags.string({
      required: true,
      description: 'End of the silence: a time, or how long from now, such as 4h or 7d; at most 90 days',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsSilence);
    const now = this.readNow(flags.now);
    const until = parseUntil(flags.until, now);
    return await this.handle(args.target, flags, now, {
      command: 'alarms silence',
      work: (store, request) => silenceAlarms(store, { ...request, until }),
      describe: (handled) => `${handled.kind} ${handled.cause}`.trim() + ` is silent until ${handled.until}`,
    });
  }
}

const LENGTH = /^[1-9]\d{0,4}[mhd]$/;

/** A time, or a length from now. @throws FleetError USAGE */
const parseUntil = (text: string, now: Date): Date => {
  if (LENGTH.test(text)) return new Date(now.getTime() + durationMs(text));
  const isExact: boolean = isTime(text);
  if (isExact) return parseTime(text);
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 40))} is not the end of a silence`, {
    subject: '--until',
    hint: 'Write a length such as 4h or 7d, or a time such as 2026-11-21T18:00:00Z',
  });
};
