import { Args, Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { exportStoredReports } from '../hub/ingest/reports/export-reports.ts';
import { openHub } from '../hub/open-hub.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { hubFlags } from '../settings/configuration-flags.ts';

export default class ReportsExport extends FleetCommand {
  static override description =
    "Write the stored reports of a site into a folder, as the agents signed them, with the site statement that names the agents' keys.\n\nThe files have the names that they have on a medium. An auditor verifies them with cosign, without the hub. Exits with 8 if the hub does not have all events of a report any more.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> evidence --site plant-7',
    '<%= config.bin %> <%= command.id %> evidence --site plant-7 --agent press-2',
  ];
  static override args = {
    folder: Args.string({ required: true, description: 'Folder to write to' }),
  };
  static override flags = {
    ...hubFlags,
    site: Flags.string({ required: true, description: 'Site whose agents reported' }),
    agent: Flags.string({ description: 'Only this agent of the site' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ReportsExport);
    const wanted = {
      site: parseName(flags.site, 'site'),
      agent: flags.agent === undefined ? undefined : parseName(flags.agent, 'agent'),
    };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const agents = await exportStoredReports(hub.store.db, args.folder, wanted, this.signal);
    for (const { agent, reports, lost, folder } of agents)
      this.log(
        `${agent}  ${reports} reports in ${folder}${lost === 0 ? '' : `, ${lost} left out: not all of their events are stored any more`}`,
      );
    if (agents.some(({ lost }) => lost > 0)) process.exitCode = 8;
    return { agents };
  }
}
