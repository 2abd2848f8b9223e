import { hexOf } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { addAuthority } from '../../keys/root/add-authority.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personFlags, personAndReason } from '../person-flags.ts';
import { recordRoots } from './record-roots.ts';

const { config, keys, layout } = configurationFlags;

export default class RootAddAuthority extends FleetCommand {
  static override description =
    'Add to a development root the authority that issues certificates for agents and the hub.\n\nOnly for roots made by an older version: "root init" makes one. It is the next version of the root; agents get it with the next medium.';
  static override examples = ['<%= config.bin %> <%= command.id %> --keys ./keys'];
  static override flags = { config, keys, layout, ...personFlags };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootAddAuthority);
    const configuration = await readConfiguration(flags, process.cwd());
    const directory = requireSetting(configuration, 'keys');
    const by = personAndReason(flags);
    const now = this.readNow(flags.now);
    const { fleet, version, digest } = await addAuthority(directory, now);
    for (const line of await recordRoots(configuration, 'root add-authority', by, now)) this.say(line);
    this.log(`root ${version} of fleet ${fleet} has an authority for agents`);
    this.log(`SHA-256 ${hexOf(digest)}`);
    this.log('The hub distributes it after its next start; media made afterwards carry it.');
    return { fleet, directory, version, digest };
  }
}
