import { Args, Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { answerCompare } from '../../hub/questions/answers/compare-environments.ts';
import { compareSites, formatComparedSites } from '../../views/sites/compare-sites.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';

export default class Compare extends FleetCommand {
  static override description =
    'Show the workloads, versions and configuration that differ between the newest releases of two environments, and how many agents run them.\n\nValues of the platform configuration and of ConfigMaps that differ are named with both. Values of Secrets are never shown, only that they differ.\n\nWith --sites it compares two sites instead.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> qa prod',
    '<%= config.bin %> <%= command.id %> qa prod --diff',
    '<%= config.bin %> <%= command.id %> --sites plant-7 plant-8',
  ];
  static override args = {
    left: Args.string({ required: true, description: 'Environment, or with --sites a site' }),
    right: Args.string({ required: true, description: 'Environment or site to compare it with' }),
  };
  static override flags = {
    ...hubFlags,
    diff: Flags.boolean({ description: 'Also the lines that differ in each object' }),
    sites: Flags.boolean({
      description: 'The names are sites: compare the values that their assignments take, and the packages',
      exclusive: ['diff'],
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Compare);
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    if (flags.sites) {
      const [one, other] = [parseName(args.left, 'site'), parseName(args.right, 'site')];
      const assignments = await compareSites(hub, one, other);
      for (const line of formatComparedSites(assignments, one, other)) this.log(line);
      return { fleet: hub.store.fleet, left: one, right: other, assignments };
    }
    const [left, right] = [parseName(args.left, 'environment'), parseName(args.right, 'environment')];
    const { lines, json } = await answerCompare(hub, { left, right, diff: flags.diff }, now);
    this.print(lines);
    return json;
  }
}
