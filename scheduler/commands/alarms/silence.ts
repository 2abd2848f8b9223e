import { Args, Flags } from '@oclif/core';
import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { isTime, parseTime } from '#bundles/time';
import { FleetCommand } from '#cli/fleet-command';
import { silenceAlarms } from '../../hub/alarms/handle-alarms.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personOf, reasonFlag } from '../person-flags.ts';

export default class AlarmsSilence extends FleetCommand {
  static override description =
    'Stop notices about an alarm, or about all present and later alarms of a cause, until a time.\n\nThe silence ends at that time. Alarms stay visible. A receiver that has an alarm still hears of its end.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> cause_7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1f --until 4h --reason "line 3 is being rebuilt"',
  ];
  static override args = {
    target: Args.string({
      required: true,
      description: 'Id of an alarm, or of a cause, as "alarms" shows it',
    }),
  };
  static override flags = {
    ...hubFlags,
    person: personFlags.person,
    reason: reasonFlag,
    until: Flags.string({
      required: true,
      description: 'End of the silence: a time, or how long from now, such as 4h or 7d; at most 90 days',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(AlarmsSilence);
    const now = this.readNow(flags.now);
    const request = { target: args.target, person: personOf(flags), reason: flags.reason, now };
    const until = parseUntil(flags.until, now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const handled = await silenceAlarms(hub.store, { ...request, until });
    this.log(`${handled.kind} ${handled.cause}`.trim() + ` is silent until ${handled.until}`);
    for (const line of await appendToLog(hub, 'alarms silence', now)) this.say(line);
    return handled;
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
