import { Flags } from '@oclif/core';
import { formatError } from '#bundles/errors';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import { openReleases } from '../../release/publish/open-releases.ts';
import { rollbackRelease } from '../../release/reissue/rollback-release.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';

const { config, keys, layout } = configurationFlags;

export default class ReleasesRollback extends FleetCommand {
  static override description =
    'Release the bundles of an older release again, under the next number.\n\nNothing is built. The next build of the channel releases the state of the repositories again: undo the change there too, or withdraw the bundle with `revoke`.';
  static override examples = ['<%= config.bin %> <%= command.id %> --channel prod/factory-host --to 7'];
  static override flags = {
    config,
    keys,
    layout,
    channel: Flags.string({ required: true, description: 'The channel, environment/cluster type' }),
    to: Flags.integer({ required: true, min: 1, description: 'Number of the release to go back to' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ReleasesRollback);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const channel = parseChannel(flags.channel);
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const directory = requireSetting(configuration, 'layout');
    using releases = await openReleases(directory, { command: 'releases rollback', now });
    const { version, expires, references } = await rollbackRelease(await releases.open(), keyDirectory, {
      channel,
      to: flags.to,
      now,
      signal: this.signal,
    });
    await releases.point(references);
    for (const [, error] of await followWithLeases(releases, keyDirectory, [channel], now))
      this.say(`its lease is void now: ${formatError(error)}`);
    const name = formatChannel(channel);
    this.log(`${name}: release ${version} brings back the bundles of release ${flags.to}, until ${expires}`);
    this.say('The next build releases what the repositories say: undo the change there too.');
    return { channel: name, release: version, to: flags.to, expires };
  }
}
