import { Args, Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { changesBackTo } from '../../../hub/promote/values/changes-back-to.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { parseWhen, WHEN } from '../../../settings/parse-when.ts';
import { personFlags, personAndReason, reasonFlag } from '../../person-flags.ts';
import { changeMany } from '../change-many.ts';

export default class SitesValuesRollback extends FleetCommand {
  static override description =
    'Give a site the values that it had before: as a new decision, judged by the releases that it follows now and reviewed like any other.\n\nValues that it did not have then are removed. Values of agents that are not enrolled any more stay away.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7 --to 12 --reason "wrong gateway"',
    '<%= config.bin %> <%= command.id %> plant-7 --to 2026-10-04 --reason "wrong gateway" --dry-run',
  ];
  static override args = { site: Args.string({ required: true, description: 'Name of the site' }) };
  static override flags = {
    ...hubFlags,
    person: personFlags.person,
    reason: reasonFlag,
    to: Flags.string({
      required: true,
      description: `Version of the values, as sites values list shows it, or a time: ${WHEN}`,
    }),
    'dry-run': Flags.boolean({ description: 'Only print which values would change' }),
    'allow-unknown': Flags.boolean({ description: 'Also set values that no release asks for any more' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesRollback);
    const site = parseName(args.site, 'site');
    const now = this.readNow(flags.now);
    const isVersion = /^[1-9]\d{0,9}$/.test(flags.to);
    const until = isVersion ? { version: Number(flags.to) } : { at: parseWhen(flags.to, 'to', now) };
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const { target, changes, gone } = await changesBackTo(hub, site, until);
    for (const agent of gone)
      this.say(`${site}/${agent} is not enrolled any more, and its values stay as they are`);
    const answer = await changeMany(
      hub,
      changes.map((change) => ({ change })),
      {
        dryRun: flags['dry-run'],
        allowUnknown: flags['allow-unknown'],
        now,
        review: configuration.siteValues,
        change: 'sites values rollback',
        withdraw: [site],
        here: true,
      },
      { log: (line) => this.log(line), say: (line) => this.say(line) },
    );
    return { site, to: target, ...(answer as object) };
  }
}
