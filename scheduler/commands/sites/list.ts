import { formatError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import type { Row } from '#cli/format-table';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readDifferences, readHeld } from '../../hub/sites/layers/compose-sites.ts';
import { describeDifference } from '../../hub/sites/layers/find-differences.ts';
import { describeHeldSites, heldSites } from '../../hub/questions/status/held-sites.ts';
import { readHiddenOf } from '../../hub/sites/hidden-values.ts';
import { describeWaiting, readWaiting, withoutHidden } from '../../hub/sites/waiting-values.ts';
import { formatAgent, formatValues, listSites, withoutHiddenValues } from '../../hub/sites/list-sites.ts';

export default class SitesList extends FleetCommand {
  static override description = 'List the sites, their agents and their values.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesList);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const hidden = await readHiddenOf(hub);
    const sites = (await listSites(hub.store.db, hub.store.fleet)).map((one) =>
      withoutHiddenValues(one, hidden(one.site)),
    );
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
    const waiting = await readWaiting(hub.store.db);
    for (const one of waiting)
      this.say(`${one.agent === null ? one.site : `${one.site}/${one.agent}`}: ${describeWaiting(one)}`);
    const differences = await readDifferences(hub);
    // Differences are read anew below.
    const without = new Map([...held].map(([site, one]) => [site, { ...one, differs: [] }]));
    for (const line of describeHeldSites(without)) this.say(line);
    for (const one of differences) this.say(`! ${describeDifference(one)}`);
    if (sites.length === 0) this.log('No site yet. Enrol one with: fleet-scheduler sites enroll <medium>');
    return {
      fleet: hub.store.fleet,
      sites,
      held: heldSites(held),
      waiting: waiting.map((one) => withoutHidden(one, hidden(one.site))),
      differences: differences.map(formatError),
    };
  }
}
