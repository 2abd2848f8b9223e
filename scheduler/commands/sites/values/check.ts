import { compareBytes } from '#bundles/digest';
import { formatCount } from '#bundles/format-count';
import { parseName } from '#bundles/names';
import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { listSites } from '../../../hub/sites/list-sites.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { explainSite } from '../../../hub/questions/answers/explain-site.ts';

export default class SitesValuesCheck extends FleetCommand {
  static override description =
    'Show for each site which values are missing, do not fit the schema of the release that it follows, or are used by no assignment.\n\nA package whose values are missing or do not fit is not applied at its site; the other packages are. The exit code is 8 if there is such a value.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> plant-7',
  ];
  static override args = { site: Args.string({ description: 'Only this site' }) };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesCheck);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const sites =
      args.site === undefined
        ? (await listSites(hub.store.db, hub.store.fleet)).map(({ site }) => site)
        : [parseName(args.site, 'site')];
    const problems = [];
    for (const site of sites.toSorted(compareBytes))
      for (const { agent, assignments, untaken } of await explainSite(hub, site)) {
        for (const { assignment, inputs } of assignments)
          for (const { name, fault } of inputs)
            if (fault !== undefined) problems.push({ site, agent, assignment, name, problem: fault });
        for (const name of untaken)
          problems.push({ site, agent, assignment: null, name, problem: 'no assignment takes it' });
      }
    for (const { site, agent, assignment, name, problem } of problems)
      this.log(`${site}/${agent}  ${assignment ?? '-'}  ${name}: ${problem}`);
    this.log(
      problems.length === 0
        ? `the values of ${formatCount(sites.length, 'site')} fit`
        : `${new Set(problems.map(({ site }) => site)).size} of ${sites.length} sites have values to look at`,
    );
    if (problems.length > 0) process.exitCode = 8;
    return { fleet: hub.store.fleet, sites: sites.length, problems };
  }
}
