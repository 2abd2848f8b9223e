import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { writeSite } from '../../hub/sites/write-site.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { siteRecommendations } from '../../hub/sites/secrets/list-secrets.ts';
import { readIdentities } from '../../hub/sites/secrets/read-identities.ts';
import { resealSecrets } from '../../hub/sites/secrets/reseal-secrets.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';

export default class SecretsReseal extends FleetCommand {
  static override description =
    "Seal a site's secret sets to its current agents, after one was added, enrolled again or revoked.\n\nResealing decrypts them with the identity of the escrow. Without an escrow, set them again with secrets set.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> --site plant-7 --identity /media/safe/escrow.txt',
  ];
  static override flags = {
    ...hubFlags,
    ...personFlags,
    site: Flags.string({ required: true, description: 'Whose sets' }),
    name: Flags.string({ description: 'Only this set' }),
    identity: Flags.string({
      required: true,
      description: 'File with the age identity of the escrow, as age-keygen writes it',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SecretsReseal);
    const site = parseName(flags.site, 'site');
    const name = flags.name === undefined ? undefined : parseName(flags.name, 'secret set');
    const configuration = await readConfiguration(flags, process.cwd());
    const identities = await readIdentities(flags.identity);
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const { escrow } = configuration;
    const order = { site, name, identities, escrow };
    const {
      site: row,
      resealed,
      unchanged,
    } = await resealSecrets(hub.store, order, await siteSigner(hub), now);
    await writeSite(hub, row, { now, command: 'secrets reseal' });
    for (const line of await appendToLog(hub, 'secrets reseal', now)) this.say(line);
    for (const one of resealed) this.log(`${one} is sealed again`);
    for (const one of unchanged) this.log(`${one} is sealed to the current agents already`);
    this.log(`site ${site} is at statement ${row.version}`);
    const remarks = await siteRecommendations(hub.store.db, site, escrow);
    for (const remark of remarks) this.say(`  ! ${remark}`);
    return { site, resealed, unchanged, statement: row.version, remarks };
  }
}
