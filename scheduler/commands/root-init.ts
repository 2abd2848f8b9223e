import { Flags } from '@oclif/core';
import { hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { formatTime } from '#bundles/time';
import { readConfiguration, requireSetting } from '../configuration.ts';
import { configurationFlags } from '../configuration-flags.ts';
import { initDevRoot } from '../sign/key-directory.ts';

const { config, keys } = configurationFlags;

export default class RootInit extends FleetCommand {
  static override description = 'Make the trust root of a new fleet, with one key for every role.';
  static override examples = ['<%= config.bin %> <%= command.id %> --dev --fleet acme --keys ./keys'];
  static override flags = {
    config,
    keys,
    fleet: Flags.string({ required: true, description: 'Name of the fleet' }),
    dev: Flags.boolean({ description: 'For development: one officer, all keys in one directory' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RootInit);
    const fleet = parseName(flags.fleet, 'fleet');
    if (!flags.dev) {
      throw new FleetError('USAGE', 'a root with several officers cannot be made by this version yet', {
        hint: 'Add --dev to try things out with a root of one officer; do not trust real machines to it',
      });
    }
    const directory = requireSetting(await readConfiguration(flags, process.cwd()), 'keys');
    const root = await initDevRoot(directory, fleet, this.readNow(flags.now));
    this.say(
      'DEV ROOT: one officer, and all keys lie unprotected in one directory. For development only, never for real machines.',
    );
    this.log(`root of fleet ${fleet} in ${directory}, valid until ${formatTime(root.expires)}`);
    this.log(`SHA-256 ${hexOf(root.digest)}`);
    this.log('Agents ask for this SHA-256 when they are enrolled.');
    return { fleet, directory, version: root.version, digest: root.digest, dev: true };
  }
}
