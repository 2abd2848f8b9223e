import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { backUp } from '../hub/upkeep/backup/backup.ts';
import { openHub } from '../hub/open-hub.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';

export default class Backup extends FleetCommand {
  static override summary = 'Copy the layout and the database into a folder, while the hub runs';
  static override description =
    'Copies the layout, and the SQLite database by its online backup, and records the version numbers that were issued. The key directory is not part of it. With PostgreSQL run pg_dump afterwards: the layout must be the older of both.';
  static override examples = ['<%= config.bin %> <%= command.id %> /backup/2026-11-26'];
  static override args = {
    folder: Args.string({ required: true, description: 'New folder for the backup' }),
  };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Backup);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    const options = { now: this.readNow(flags.now), signal: this.signal };
    const backup = await backUp(hub, requireSetting(configuration, 'db'), args.folder, options);
    this.log(
      `${args.folder} has the layout${backup.database === null ? '' : ' and the database'} of ${backup.at}`,
    );
    if (backup.database === null) this.log('Now dump the database: pg_dump --format=custom --file hub.dump');
    return backup;
  }
}
