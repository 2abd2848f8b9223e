import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';
import { openHub } from '../hub/hub.ts';
import { readStatus } from '../hub/status/read-status.ts';

export default class Status extends FleetCommand {
  static override description =
    'Show what runs where, against what should, and how old each word of it is.\n\nRows marked with ! need a look. --wide adds what runs by its digest, drift, and after each word its age and the number of the report below the table that brought it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --json',
  ];
  static override flags = {
    ...hubFlags,
    wide: Flags.boolean({ description: 'All columns, with the age and the report of each' }),
    environment: Flags.string({ char: 'e', description: 'Only agents of this environment' }),
    site: Flags.string({ description: 'Only this site' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Status);
    const now = this.readNow(flags.now);
    const filter = {
      environment: flags.environment === undefined ? undefined : parseName(flags.environment, 'environment'),
      site: flags.site === undefined ? undefined : parseName(flags.site, 'site'),
    };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const { lines, narrow, json } = await readStatus(hub, filter, now, { signal: this.signal });
    for (const line of flags.wide ? lines : narrow) this.log(line);
    return json;
  }
}
