import { Flags } from '@oclif/core';
import { addDays, formatTime } from '#bundles/time';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { layOutSites } from '../../hub/sites/write-site.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { renewSites } from '../../hub/sites/renew-sites.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';

export default class SitesRenew extends FleetCommand {
  static override description =
    'Renew site statements that expire soon, or whose key has left the trust root.\n\nA site with an expired statement takes no new release. Run this regularly, and after each new root.';
  static override examples = ['<%= config.bin %> <%= command.id %> --within 200'];
  static override flags = {
    ...hubFlags,
    ...personFlags,
    within: Flags.integer({
      description: 'Days that a statement must still be valid',
      default: 180,
      min: 0,
      max: 3650,
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesRenew);
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), {
      by: personAndReason(flags),
    });
    const before = formatTime(addDays(now, flags.within));
    const renewed = await renewSites(hub.store, await siteSigner(hub), before, now, this.signal);
    // All of them: an earlier run may have ended between the database and the layout.
    const sites = await hub.store.db.selectFrom('site').select('name').orderBy('name').execute();
    const options = { now, command: 'sites renew', signal: this.signal };
    const { written, failures } = await layOutSites(hub, sites, options);
    for (const site of renewed)
      this.log(`site ${site.name} is at statement ${site.version}, valid until ${site.expires_at}`);
    if (written > renewed.length)
      this.say(
        `also brought up to date in ${hub.layout}: ${formatCount(written - renewed.length, 'statement')}`,
      );
    for (const line of await appendToLog(hub, 'sites renew', now)) this.say(line);
    if (renewed.length === 0) this.log(`Every statement is valid until ${before} or longer.`);
    for (const failure of failures.values()) throw failure;
    return {
      renewed: renewed.map(({ name, version, expires_at }) => ({ site: name, version, expires: expires_at })),
    };
  }
}
