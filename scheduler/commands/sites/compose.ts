import { Flags } from '@oclif/core';
import { CODES, FleetError, formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { stepValues } from '../../hub/promote/values/step-values.ts';
import { openHub } from '../../hub/open-hub.ts';
import { type ComposedSites, composeSites, writeComposed } from '../../hub/sites/layers/compose-sites.ts';
import { describeDifference } from '../../hub/sites/layers/find-differences.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { changeLines } from './change-many.ts';
import { heldSiteLines } from './held-site-lines.ts';
import { personAndReason, personFlags } from '../person-flags.ts';

export default class SitesCompose extends FleetCommand {
  static override description =
    'Compose the values of all sites from the layers in the repository, and sign a statement for each site that differs.\n\nThe layers are those of the newest release of the channel that an agent follows, so run it after "build"; "serve" does it without being asked. A site whose values tie or do not fit keeps those that it has and is named.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run',
    '<%= config.bin %> <%= command.id %> --reason "new gateway in the north"',
  ];
  static override flags = {
    ...hubFlags,
    ...personFlags,
    'dry-run': Flags.boolean({
      description: 'Only print which values would change, without asking a signer process',
    }),
    undeclared: Flags.string({
      description:
        'Compose this site although the repository no longer declares it, without the labels of its former Site',
      ...repeatable,
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesCompose);
    const dryRun = flags['dry-run'];
    const undeclared = (flags.undeclared ?? []).map((site) => parseName(site, 'site'));
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), {
      by: personAndReason(flags),
    });
    const now = this.readNow(flags.now);
    const signer = await siteSigner(hub);
    const result = await composeSites(hub, signer, { now, dryRun, undeclared, signal: this.signal });
    if (!dryRun) {
      const stepped = await stepValues(hub, { now, signal: this.signal });
      for (const { rollout, environment, decision = 'continued', why, sites } of stepped)
        this.log(
          `rollout ${rollout} of values in ${environment}: ${decision}, ${formatCount(sites, 'site')}${why === undefined ? '' : `: ${why}`}`,
        );
      await writeComposed(hub, { now, command: 'sites compose' });
      for (const line of await appendToLog(hub, 'sites compose', now)) this.say(line);
    }
    this.#print(result, dryRun);
    return {
      dryRun,
      changed: result.changed.map(({ site, version, changes }) => ({
        site,
        version,
        changes: changes.map(({ about, old, new: after }) => ({ about, old, new: after })),
      })),
      waiting: result.waiting,
      held: result.held.map(({ site, reasons }) => ({ site, reasons: reasons.map(formatError) })),
      advice: result.advice.map(formatError),
    };
  }

  #print({ changed, held, waiting, advice }: ComposedSites, dryRun: boolean): void {
    for (const { changes } of changed) for (const line of changeLines(changes)) this.log(line);
    for (const one of advice) this.say(`! ${describeDifference(one)}`);
    for (const line of heldSiteLines(held)) this.say(line);
    for (const { site, agent, why } of waiting) this.say(`${site}/${agent} keeps its values: ${why}`);
    const count = formatCount(changed.length, 'site');
    if (dryRun) this.log(`${count} would change; nothing was changed`);
    else if (changed.length === 0) this.log('No site changed.');
    else this.log(`${count} changed; the next medium carries their statements`);
    if (held.length === 0) return;
    const error = new FleetError(
      'SITES_HELD',
      `${held.length} ${held.length === 1 ? 'site keeps its values' : 'sites keep their values'}`,
      { hint: 'The reasons are above' },
    );
    process.exitCode = CODES[error.code].exit;
    this.say(`${this.config.bin}: ${formatError(error)}`);
  }
}
