import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { listSites } from '../../hub/sites/list-sites.ts';
import { formatValuesCsv } from '../../hub/sites/values-csv.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';

export default class SitesExport extends FleetCommand {
  static override description =
    'Print the values of all sites and agents as CSV, for a spreadsheet and "sites import".';
  static override examples = ['<%= config.bin %> <%= command.id %> > values.csv'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesExport);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const sites = await listSites(hub.store.db, hub.store.fleet);
    // No field has a line break: those are written as JSON.
    for (const line of formatValuesCsv(sites).trimEnd().split('\n')) this.log(line);
    return { fleet: hub.store.fleet, sites: sites.map(({ site, values }) => ({ site, values })) };
  }
}
