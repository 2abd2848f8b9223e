import { formatError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import type { Row } from '#cli/format-table';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readDifferences, readHeld } from '../../hub/sites/layers/compose-sites.ts';
import { describeDifference } from '../../hub/sites/layers/find-differences.ts';
import { formatAgent, formatValues, listSites } from '../../hub/sites/list-sites.ts';

export default class SitesList extends FleetCommand {
  static override description = 'List the sites, their agents and their values.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesList);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const sites = await listSites(hub.store.db, hub.store.fleet);
    this.print({
      rows: sites.flatMap(({ site, version, expires, values, agents }): readonly Row[] => [
        `${site}  statement ${version}, valid until ${expires}  ${formatValues(values)}`.trimEnd(),
        ...agents.flatMap((agent): readonly Row[] => [
          formatAgent(agent),
          ...(Object.keys(agent.values).length > 0 ? [`    ${formatValues(agent.values)}`] : []),
        ]),
      ]),
      hang: 8,
    });
    const held = await readHeld(hub.store.db);
    for (const [site, { since, reasons }] of held)
      for (const reason of reasons)
        this.say(`${site} keeps its values since ${since}: ${formatError(reason)}`);
    const differences = await readDifferences(hub);
    for (const one of differences) this.say(`! ${describeDifference(one)}`);
    if (sites.length === 0) this.log('No site yet. Enrol one with: fleet-scheduler sites enroll <medium>');
    return {
      fleet: hub.store.fleet,
      sites,
      held: [...held].map(([site, { since, reasons }]) => ({
        site,
        since,
        reasons: reasons.map(formatError),
      })),
      differences: differences.map(formatError),
    };
  }
}
