import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import type { Handled, HandleRequest } from '../../hub/alarms/handle-alarms.ts';
import { openHub } from '../../hub/open-hub.ts';
import type { Store } from '../../hub/store/open-store.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personOf, reasonFlag } from '../person-flags.ts';

type Given = Parameters<typeof readConfiguration>[0] & {
  readonly person?: string | undefined;
  readonly reason: string;
};

type Handling<Result> = {
  /** Holder of the layout's lock. */
  readonly command: string;
  readonly work: (store: Store, request: HandleRequest) => Promise<Result>;
  /** Sentence for the person. */
  readonly describe: (result: Result) => string;
};

/** Arguments and flags of the verbs that acknowledge and silence alarms, and that take both back. */
export const handleArgs = {
  target: Args.string({
    required: true,
    description: 'Id of an alarm, or of a cause, as "alarms" shows it',
  }),
};
export const handleFlags = { ...hubFlags, person: personFlags.person, reason: reasonFlag };

/** Base of these verbs. */
export abstract class HandleCommand extends FleetCommand {
  protected async handle<Result extends Handled>(
    target: string,
    flags: Given,
    now: Date,
    { command, work, describe }: Handling<Result>,
  ): Promise<Result> {
    const request = { target, person: personOf(flags), reason: flags.reason, now };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const handled = await work(hub.store, request);
    this.log(describe(handled));
    for (const line of await appendToLog(hub, command, now)) this.say(line);
    return handled;
  }
}
