import { Flags } from '@oclif/core';
import { FleetError, formatError, isFleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags, selectionFlags } from '../../settings/configuration-flags.ts';
import { readRelease } from '../../load/releases/read-release.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import { type Renewed, renewRelease } from '../../release/reissue/renew-release.ts';
import { readCurrent } from '../../release/reissue/rollback-release.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { chosenChannels, eachChannel } from '../each-channel.ts';

const { config, keys, layout } = configurationFlags;

export default class ReleasesRenew extends FleetCommand {
  static override description =
    'Sign releases again whose bundles stay the same: those that have less than a third of their life left, and after a rotation those whose signatures the newest root no longer accepts.\n\nA build does the same on its way. Bundles keep their digests: nothing is sent or applied again.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --anyway',
  ];
  static override flags = {
    config,
    keys,
    layout,
    ...selectionFlags,
    anyway: Flags.boolean({
      description: 'Also releases that are not due, and those that were made while a clock was ahead',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ReleasesRenew);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const directory = requireSetting(configuration, 'layout');
    using releases = await openReleases(directory, { command: 'releases renew', now });
    const opened = await releases.open();
    const channels = chosenChannels(opened, flags);
    const outcomes = await eachChannel(
      channels,
      { doing: 'renewing the release of', fatal: [], signal: this.signal, say: (line) => this.say(line) },
      async (channel) => {
        const previous = await readCurrent(opened, keyDirectory, channel, now).catch(
          async (error: unknown) => {
            // A person says that this clock is right.
            const found =
              flags.anyway && isFleetError(error, 'FROM_FUTURE')
                ? await readRelease(opened, channel, keyDirectory.roots)
                : undefined;
            if (found) return found;
            throw error;
          },
        );
        const order = { channel, previous, now, anyway: flags.anyway };
        const renewed = await renewRelease(opened, keyDirectory, order);
        if (renewed.references.size > 0) await releases.point(renewed.references);
        this.print({ rows: [[formatChannel(channel), describeRenewed(renewed)]], min: [23] });
        if (renewed.outcome === 'revoked') process.exitCode = new FleetError('REVOKED', '').exitCode;
        const { references: _, due, ...told } = renewed;
        return { ...told, due: due ?? null };
      },
    );
    for (const [name, error] of await followWithLeases(releases, keyDirectory, channels, now))
      this.say(`${name}: its lease is now void: ${formatError(error)}`);
    if (channels.length === 0) this.log('The layout has no release yet, so there is nothing to renew.');
    return { channels: outcomes };
  }
}

const WHY = {
  signers: 'the newest root no longer accepts its signatures',
  ending: 'it was about to expire',
  list: 'bundles were withdrawn',
  roots: 'it was stored without the newest root',
};

const describeRenewed = ({ outcome, due, version, expires }: Renewed): string => {
  const why = due ? `: ${WHY[due]}` : '';
  switch (outcome) {
    case 'renewed':
      return `release ${version} until ${expires}${why}`;
    case 'roots':
      return `release ${version} stays, with the newest root beside it`;
    case 'good':
      return `release ${version} is good until ${expires}`;
    case 'revoked':
      return `release ${version} names a bundle that was revoked: build, or go back with "releases rollback"`;
  }
};
