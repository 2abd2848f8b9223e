import { Flags } from '@oclif/core';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags, selectionFlags } from '../../settings/configuration-flags.ts';
import { LEASE_DAYS, renewLease } from '../../release/lease/renew-lease.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import { readCurrent } from '../../release/reissue/rollback-release.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { chosenChannels, eachChannel } from '../each-channel.ts';

const { config, keys, layout } = configurationFlags;

/** Readers take no lease of a longer life. */
const MAX_DAYS = 400;

export default class LeaseRenew extends FleetCommand {
  static override summary = "Sign leases, which confirm that a channel's release is still the current one";
  static override description =
    'A lease keeps an expired release installable, and agents with the freshness `lease` require a recent one. It is one file of a kilobyte: `publish` sends it, `fleet-export create --lease-only` writes it to a stick.\n\nOnce a channel has a lease, each build that releases it signs the next one, and `serve` renews it after a third of its validity.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --channel prod/factory-host --days 14',
  ];
  static override flags = {
    config,
    keys,
    layout,
    ...selectionFlags,
    days: Flags.integer({
      default: LEASE_DAYS,
      min: 1,
      max: MAX_DAYS,
      description: 'Validity of the lease in days',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(LeaseRenew);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const directory = requireSetting(configuration, 'layout');
    using releases = await openReleases(directory, { command: 'lease renew', now });
    const opened = await releases.open();
    const channels = chosenChannels(opened, flags);
    const leases = await eachChannel(
      channels,
      {
        doing: 'renewing the lease of',
        fatal: ['KEY_MISSING', 'DISK_FULL'],
        signal: this.signal,
        say: (line) => this.say(line),
      },
      async (channel) => {
        const release = await readCurrent(opened, keyDirectory, channel, now);
        const order = { channel, release, days: flags.days, now, anyway: true };
        const { predicate, references } = await renewLease(opened, keyDirectory, order);
        await releases.point(references);
        const { version, expires } = predicate;
        this.print({
          rows: [
            [
              formatChannel(channel),
              `lease ${version} of release ${release.predicate.version}, until ${expires}`,
            ],
          ],
          min: [23],
        });
        return { version, release: release.predicate.version, expires };
      },
    );
    if (channels.length === 0) this.log('The layout has no release yet, so no lease was signed.');
    return { leases };
  }
}
