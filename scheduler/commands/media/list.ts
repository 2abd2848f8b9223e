import { FleetCommand } from '#cli/fleet-command';
import { paragraph } from '#cli/format-table';
import { openHub } from '../../hub/open-hub.ts';
import { listUnderway } from '../../hub/questions/status/list-underway.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { describeContents } from './describe-contents.ts';

export default class MediaList extends FleetCommand {
  static override description =
    'List the media that are on their way: recorded with "fleet-export create --hub" or "media record", and not back yet.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(MediaList);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const underway = await listUnderway(hub.store.db, {});
    for (const { recordedAt, arrived, ...contents } of underway)
      this.print(
        paragraph(
          `on its way since ${recordedAt}: ${describeContents(contents)}; arrived at ${arrived.join(', ') || 'no site yet'}`,
        ),
      );
    if (underway.length === 0)
      this.log('No medium is on its way. Record one that leaves with: fleet-scheduler media record <medium>');
    return { underway };
  }
}
