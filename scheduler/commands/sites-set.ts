import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { readConfiguration } from '../configuration.ts';
import { hubFlags } from '../configuration-flags.ts';
import { openHub, publishSite, siteSigner } from '../hub/hub.ts';
import { parseValue, setValues } from '../hub/sites/set-values.ts';

export default class SitesSet extends FleetCommand {
  static override description =
    'Set the values that only a site knows, and sign its next statement.\n\nWhole numbers, true, false, null and JSON are taken as such, anything else as text.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 gatewayHost=10.7.0.1 port=8080',
    '<%= config.bin %> <%= command.id %> plant-7 line=north --agent press-1',
    '<%= config.bin %> <%= command.id %> plant-7 --unset port',
  ];
  static override strict = false;
  static override args = {
    site: Args.string({ required: true, description: 'Name of the site' }),
    values: Args.string({ description: '<name>=<value> ...' }),
  };
  static override flags = {
    ...hubFlags,
    agent: Flags.string({ description: "Only for this agent; its values go over the site's" }),
    unset: Flags.string({
      description: 'Take this value away',
      multiple: true,
      multipleNonGreedy: true,
    }),
  };

  async run(): Promise<unknown> {
    const { args, argv, flags } = await this.parse(SitesSet);
    const pairs = (argv as string[]).slice(1);
    const unset = flags.unset ?? [];
    if (pairs.length === 0 && unset.length === 0)
      throw new FleetError('USAGE', 'no value is given', { hint: 'Write values like port=8080' });
    const change = {
      site: parseName(args.site, 'site'),
      agent: flags.agent === undefined ? undefined : parseName(flags.agent, 'agent'),
      set: Object.fromEntries(pairs.map(parseValue)),
      unset,
    };
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const now = this.readNow(flags.now);
    const { site, changed } = await setValues(hub.store, change, await siteSigner(hub), now);
    await publishSite(hub, site, { now, command: 'sites set' });
    this.log(
      changed
        ? `site ${site.name} is at statement ${site.version}; the next medium carries the new values`
        : `site ${site.name} has these values already, at statement ${site.version}`,
    );
    return {
      site: site.name,
      version: site.version,
      changed,
      values: JSON.parse(site.site_values) as unknown,
    };
  }
}
