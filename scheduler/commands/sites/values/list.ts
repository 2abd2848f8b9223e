import { Args } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { readHiddenOf } from '../../../hub/sites/hidden-values.ts';
import { formatValues } from '../../../hub/sites/list-sites.ts';
import { findSite } from '../../../hub/sites/set-values.ts';
import { describeWaiting, readWaiting, withoutHidden } from '../../../hub/sites/waiting-values.ts';
import { type DecidedValue, valuesAt, valuesVersions } from '../../../hub/sites/values-at.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { atFlag } from '../../../settings/question-flags.ts';
import { parseWhen } from '../../../settings/parse-when.ts';

export default class SitesValuesList extends FleetCommand {
  static override description =
    'Show the values of a site and of its agents, now or at a past time, and of each who gave it, when and why.\n\nBelow are the versions of the values, which "sites values rollback" takes back to.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7',
    '<%= config.bin %> <%= command.id %> plant-7 --at 2026-10-04',
  ];
  static override args = { site: Args.string({ required: true, description: 'Name of the site' }) };
  static override flags = { ...hubFlags, ...atFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesList);
    const site = parseName(args.site, 'site');
    const at = flags.at === undefined ? undefined : parseWhen(flags.at, 'at', this.readNow(flags.now));
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const { db } = hub.store;
    await findSite(db, site, undefined);
    const isHidden = (await readHiddenOf(hub, [site]))(site);
    const found = await valuesAt(db, site, { at });
    const versions = await valuesVersions(db, site, MAX_VERSIONS);
    if (!found)
      throw new FleetError('USAGE', `no values of ${site} are recorded for ${at ?? 'now'}`, {
        hint: `The record begins at ${versions.at(-1)?.at ?? 'the next change'}`,
      });
    this.log(`${site}  values of statement ${found.version}, since ${found.since}`);
    for (const [agent, values] of Map.groupBy(found.values, (one) => one.agent)) {
      if (agent !== null) this.log(`  ${agent}`);
      for (const value of values)
        this.log(`${agent === null ? '  ' : '    '}${describeValue(withheld(value, isHidden))}`);
    }
    if (found.values.length === 0) this.log('  none');
    const waiting = at === undefined ? await readWaiting(db, site) : [];
    for (const one of waiting) this.log(`  ! ${one.agent ?? site}: ${describeWaiting(one)}`);
    if (at === undefined && versions.length > 1) {
      this.log('versions:');
      for (const { version, at: since, person, reason } of versions)
        this.log(`  ${version}  ${since}  ${who(person, reason)}`);
    }
    const { document: _, values, ...rest } = found;
    return {
      fleet: hub.store.fleet,
      ...rest,
      values: values.map((one) => withheld(one, isHidden)),
      waiting: waiting.map((one) => withoutHidden(one, isHidden)),
      versions,
    };
  }
}

const MAX_VERSIONS = 20;

const withheld = (value: DecidedValue, isHidden: IsHidden): DecidedValue =>
  isHidden(value.name) ? { ...value, value: WITHHELD } : value;

const describeValue = ({ name, value, since, person, reason, atLeast }: DecidedValue): string =>
  `${formatValues({ [name]: value })}  ${atLeast ? `before ${since}` : `${since}  ${who(person, reason)}`}`;

const who = (person: string | null, reason: string | null): string =>
  `by ${person ?? 'a rule'}${reason === null ? '' : `: ${reason}`}`;
