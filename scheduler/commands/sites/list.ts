import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { formatAgent, formatValues, listSites } from '../../hub/sites/list-sites.ts';

export default class SitesList extends FleetCommand {
  static override description = 'List the sites, their agents and their values.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesList);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const sites = await listSites(hub.store.db, hub.store.fleet);
    for (const { site, version, expires, values, agents } of sites) {
      this.log(`${site}  statement ${version}, valid until ${expires}  ${formatValues(values)}`.trimEnd());
      for (const agent of agents) {
        this.log(formatAgent(agent));
        if (Object.keys(agent.values).length > 0) this.log(`    ${formatValues(agent.values)}`);
      }
    }
    if (sites.length === 0) this.log('No site yet. Enrol one with: fleet-scheduler sites enroll <medium>');
    return { fleet: hub.store.fleet, sites };
  }
}
