import { Args, Flags } from '@oclif/core';
import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { enrolledAgents } from '../../../hub/sites/enrolled-agents.ts';
import { siteValuesOf } from '../../../hub/sites/issue-site.ts';
import { findSite, type ValueChange } from '../../../hub/sites/set-values.ts';
import { valuesAt, valuesVersions } from '../../../hub/sites/values-at.ts';
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
    const { db, fleet } = hub.store;
    const row = await findSite(db, site, undefined);
    const target = await valuesAt(db, site, until);
    if (!target || (until.version ?? 0) > row.version) {
      const versions = await valuesVersions(db, site, 10);
      throw new FleetError('USAGE', `no values of ${site} are recorded for ${flags.to}`, {
        hint: `Versions are ${versions.map(({ version, at }) => `${version} of ${at}`).join(', ') || 'none'}`,
      });
    }
    const enrolled = new Set((await enrolledAgents(db, site)).map(({ name }) => name));
    const differing = valueDifferences(siteValuesOf(row, fleet, site), target.document);
    const asked: ValueChange[] = [];
    for (const [agent, values] of Map.groupBy(differing, (one) => one.agent)) {
      if (agent !== undefined && !enrolled.has(agent)) {
        this.say(`${site}/${agent} is not enrolled any more, and its values stay as they are`);
        continue;
      }
      const set = values.flatMap(({ name, new: value }) =>
        value === undefined ? [] : [[name, value] as const],
      );
      const unset = values.flatMap(({ name, new: value }) => (value === undefined ? [name] : []));
      asked.push({ site, agent, set: Object.fromEntries(set), unset });
    }
    const answer = await changeMany(
      hub,
      asked.map((change) => ({ change })),
      {
        dryRun: flags['dry-run'],
        allowUnknown: flags['allow-unknown'],
        now,
        review: configuration.siteValues,
        change: 'sites values rollback',
      },
      { log: (line) => this.log(line), say: (line) => this.say(line) },
    );
    return { site, to: target.version, ...(answer as object) };
  }
}
