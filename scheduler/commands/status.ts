import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { readConfiguration } from '../configuration.ts';
import { hubFlags } from '../configuration-flags.ts';
import { openHub } from '../hub/hub.ts';
import { readStatus } from '../hub/status/read-status.ts';

export default class Status extends FleetCommand {
  static override description =
    'Show what runs where, against what should, and how old each word of it is.\n\nRows marked with ! need a look. Numbers in brackets are the reports below the table.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --environment prod --json',
  ];
  static override flags = {
    ...hubFlags,
    environment: Flags.string({ description: 'Only agents of this environment' }),
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
    const { lines, json } = await readStatus(hub, filter, now, this.signal);
    for (const line of lines) this.log(line);
    return json;
  }
}
