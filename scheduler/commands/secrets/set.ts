import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { writeSite } from '../../hub/sites/write-site.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { readValues } from '../../hub/sites/secrets/read-values.ts';
import { setSecrets } from '../../hub/sites/secrets/set-secrets.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';

export default class SecretsSet extends FleetCommand {
  static override description =
    "Seal a secret set to the agents of a site, and sign the site's next statement, which names it.\n\nThe new set replaces the previous one completely. Values come from files or standard input, never from the command line; only the sealed file is kept here.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> --site plant-7 --name mqtt --from-file password=mqtt.txt --from-file ca.pem',
    'pass show plant-7/mqtt | <%= config.bin %> <%= command.id %> --site plant-7 --name mqtt --stdin password',
  ];
  static override flags = {
    ...hubFlags,
    ...personFlags,
    site: Flags.string({ required: true, description: 'Site of the set' }),
    name: Flags.string({ required: true, description: 'Name of the set' }),
    agent: Flags.string({
      description: 'Only this agent of the site may read it',
      ...repeatable,
    }),
    'from-file': Flags.string({
      description: '<key>=<path>, or a path whose last part is the key',
      ...repeatable,
    }),
    'from-env-file': Flags.string({ description: 'File of lines KEY=value' }),
    stdin: Flags.string({ description: 'Key whose value comes on standard input' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SecretsSet);
    const site = parseName(flags.site, 'site');
    const name = parseName(flags.name, 'secret set');
    const agents = flags.agent?.map((agent) => parseName(agent, 'agent'));
    const sources = {
      files: flags['from-file'] ?? [],
      envFile: flags['from-env-file'],
      stdin: flags.stdin,
    };
    const configuration = await readConfiguration(flags, process.cwd());
    const values = await readValues(sources, process.cwd(), process.stdin);
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const { escrow } = configuration;
    const order = { site, name, values, agents, escrow };
    const { site: row, version, readers } = await setSecrets(hub.store, order, await siteSigner(hub), now);
    await writeSite(hub, row, { now, command: 'secrets set' });
    for (const line of await appendToLog(hub, 'secrets set', now)) this.say(line);
    const keys = Object.keys(values);
    this.log(`${name} of ${site} is at version ${version}, with ${keys.join(', ')}`);
    this.log(`  sealed to ${readers.join(', ')}${escrow === undefined ? '' : ' and the escrow'}`);
    this.log(`site ${site} is at statement ${row.version}; the next medium or release brings it`);
    return {
      site,
      name,
      version,
      keys,
      readers,
      escrow: escrow !== undefined,
      statement: row.version,
    };
  }
}
