import { Args, Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { checkChanges, decidesInRepository } from '../../hub/promote/values/change-values.ts';
import { toSelected } from '../../hub/promote/values/decide-in-repository.ts';
import { readCsvFile } from '../../hub/sites/csv.ts';
import { listSites } from '../../hub/sites/list-sites.ts';
import { readValuesCsv } from '../../hub/sites/values-csv.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { personFlags, personAndReason } from '../person-flags.ts';
import { changeMany, refuseAny } from './change-many.ts';

export default class SitesImport extends FleetCommand {
  static override description =
    'Set values of many sites from a CSV: all of them, or none if one does not fit.\n\nThe columns are site, agent (may be empty or left out) and names of values, as "sites export" writes them. An empty field changes nothing.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> values.csv --dry-run',
    '<%= config.bin %> <%= command.id %> values.csv --reason "new gateways"',
  ];
  static override args = {
    csv: Args.string({ required: true, description: 'File with a line for each site or agent' }),
  };
  static override flags = {
    here: Flags.boolean({
      description: 'Decide at the hub, although siteValues.write says that the repository does',
    }),
    ...hubFlags,
    ...personFlags,
    'dry-run': Flags.boolean({ description: 'Only print what would change' }),
    'allow-unknown': Flags.boolean({ description: 'Also set values that no release asks for yet' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesImport);
    const configuration = await readConfiguration(flags, process.cwd());
    const text = await readCsvFile(args.csv);
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const sites = await listSites(hub.store.db, hub.store.fleet);
    const options = {
      dryRun: flags['dry-run'],
      allowUnknown: flags['allow-unknown'],
      now: this.readNow(flags.now),
      review: configuration.siteValues,
      here: flags.here,
    };
    const asked = readValuesCsv(text, args.csv, sites);
    const speaker = { log: (line: string) => this.log(line), say: (line: string) => this.say(line) };
    if (flags.here || !decidesInRepository(configuration.siteValues))
      return await changeMany(hub, asked, options, speaker);
    const { changes, problems } = await checkChanges(hub, asked, flags['allow-unknown']);
    refuseAny(problems, speaker);
    const given = changes.filter(({ set, unset }) => Object.keys(set).length + unset.length > 0);
    const values = toSelected({}, given);
    const { dryRun, now } = options;
    const terms = { configuration, values, env: process.env, signal: this.signal, now, dryRun };
    const { setInRepository } = await import('./set-in-repository.ts');
    return await setInRepository(hub, terms, speaker);
  }
}
