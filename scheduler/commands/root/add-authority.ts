import { hexOf } from '#bundles/digest';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { addAuthority } from '../../keys/root/add-authority.ts';

const { config, keys } = configurationFlags;

export default class RootAddAuthority extends FleetCommand {
  static override description =
    'Add to a development root the authority that issues certificates for agents and the hub.\n\nOnly for roots made by an older version: "root init" makes one. It is the next version of the root; agents get it with the next medium.';
  static override examples = ['<%= config.bin %> <%= command.id %> --keys ./keys'];
  static override flags = { config, keys };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootAddAuthority);
    const directory = requireSetting(await readConfiguration(flags, process.cwd()), 'keys');
    const { fleet, version, digest } = await addAuthority(directory, this.readNow(flags.now));
    this.log(`root ${version} of fleet ${fleet} has an authority for agents`);
    this.log(`SHA-256 ${hexOf(digest)}`);
    this.log('The hub distributes it after its next start; media made afterwards carry it.');
    return { fleet, directory, version, digest };
  }
}
