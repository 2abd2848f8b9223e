import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { writeSite } from '../../hub/sites/write-site.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { removeSecrets } from '../../hub/sites/secrets/remove-secrets.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { requireReason, removalReasonFlags } from '../person-flags.ts';

export default class SecretsRemove extends FleetCommand {
  static override description =
    'Remove a secret set from a site.\n\nIts agents delete it with the next statement; files and Secrets made from it stay while a package needs them.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --site plant-7 --name mqtt --reason "the broker is gone"',
  ];
  static override flags = {
    ...hubFlags,
    ...removalReasonFlags,
    site: Flags.string({ required: true, description: 'Site of the set' }),
    name: Flags.string({ required: true, description: 'Name of the set' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SecretsRemove);
    const site = parseName(flags.site, 'site');
    const name = parseName(flags.name, 'secret set');
    const now = this.readNow(flags.now);
    const configuration = await readConfiguration(flags, process.cwd());
    const by = await requireReason(
      flags,
      `the secret set ${name} is removed from ${site}, and its agents delete it`,
      {
        json: this.jsonEnabled(),
        signal: this.signal,
      },
    );
    await using hub = await openHub(configuration, { by });
    const row = await removeSecrets(hub.store, { site, name }, await siteSigner(hub), now);
    await writeSite(hub, row, { now, command: 'secrets remove' });
    for (const line of await appendToLog(hub, 'secrets remove', now)) this.say(line);
    this.log(`${name} is no longer a secret set of ${site}, which is at statement ${row.version}`);
    return { site, name, statement: row.version };
  }
}
