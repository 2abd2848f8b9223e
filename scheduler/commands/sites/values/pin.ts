import { Args } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { pinValues } from '../../../hub/sites/pin-values.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { appendToLog } from '../../append-to-log.ts';
import { personAndReason, personFlags, reasonFlag } from '../../person-flags.ts';

type Pinned = {
  readonly environment: string;
  readonly isPinned: boolean;
  readonly outcome: 'decided' | 'unchanged';
};

/** Pinning and its end take the same arguments. */
abstract class PinCommand extends FleetCommand {
  static override args = {
    environment: Args.string({ required: true, description: 'Environment whose sites keep their values' }),
  };
  static override flags = { ...hubFlags, person: personFlags.person, reason: reasonFlag };
  protected abstract readonly isPinned: boolean;

  async run(): Promise<Pinned> {
    const { args, flags } = await this.parse(PinCommand);
    const environment = parseName(args.environment, 'environment');
    const now = this.readNow(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const { isPinned } = this;
    const outcome = await pinValues(hub.store, environment, isPinned, now);
    for (const line of await appendToLog(hub, 'sites values', now)) this.say(line);
    const state = isPinned ? 'pinned' : 'not pinned';
    if (outcome === 'unchanged')
      this.log(`the values of ${environment} are ${state} already; nothing was written`);
    else this.log(`the values of ${environment} are ${isPinned ? 'pinned' : 'not pinned any more'}`);
    return { environment, isPinned, outcome };
  }
}

export class SitesValuesPin extends PinCommand {
  static override description =
    'Pin the values of the sites of an environment: no change reaches them until "sites values unpin", neither by people nor by layers.\n\nChanges that are made meanwhile are stored as rollouts, and begin then. Statements of these sites that are signed for other reasons have the values that the site has.';
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking"'];
  protected override readonly isPinned = true;
}

export class SitesValuesUnpin extends PinCommand {
  static override description =
    'End "sites values pin": the changes that waited begin, each with its first stage, in the next round of "serve" or with "sites compose".';
  static override examples = ['<%= config.bin %> <%= command.id %> prod --reason "stock taking is done"'];
  protected override readonly isPinned = false;
}
