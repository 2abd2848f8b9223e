import { Args } from '@oclif/core';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { departureOf, recordDeparture } from '../../hub/sites/medium/note-medium.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { describeContents } from './describe-contents.ts';

export default class MediaRecord extends FleetCommand {
  static override description =
    'Record that a filled medium leaves the office, so that "media list" and the page of the hub show it until it comes back.\n\nRun it after fleet-export create, which does the same with --hub. A repetition changes nothing; filling the same stick again and recording it ends the older record.';
  static override examples = ['<%= config.bin %> <%= command.id %> /media/stick'];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory or tar file that fleet-export filled' }),
  };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(MediaRecord);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    await using medium = await openMedium(args.medium, { signal: this.signal });
    const recorded = await recordDeparture(
      hub.store,
      await departureOf(medium, hub.store.fleet),
      this.readNow(flags.now),
    );
    this.log(`on its way since ${recorded.recordedAt}: ${describeContents(recorded)}`);
    return recorded;
  }
}
