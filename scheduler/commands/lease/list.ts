import { isLiveLease } from '#bundles/trust/accept/is-live-lease';
import type { TrustRoot } from '#bundles/trust/root/root';
import { openLayout } from '#bundles/formats/layout/layout';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags, selectionFlags } from '../../settings/configuration-flags.ts';
import { type StoredLease, readLease } from '../../release/lease/read-lease.ts';
import { readRelease } from '../../load/releases/read-release.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { chosenChannels } from '../each-channel.ts';

const { config, keys, layout } = configurationFlags;

export default class LeaseList extends FleetCommand {
  static override description = 'List the lease of each channel, and whether an agent would accept it now.';
  static override examples = ['<%= config.bin %> <%= command.id %> --environment prod'];
  static override flags = { config, keys, layout, ...selectionFlags };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(LeaseList);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const { roots, root } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const channels = chosenChannels(opened, flags);
    if (channels.length === 0) this.log('The layout has no release yet, so there is no lease.');
    const leases = [];
    const rows: (readonly string[])[] = [];
    for (const channel of channels) {
      const name = formatChannel(channel);
      const release = await readRelease(opened, channel, roots);
      const lease = await readLease(opened, channel, roots);
      if (!release || !lease) {
        rows.push([name, 'no lease']);
        continue;
      }
      const { version, issuedAt, expires } = lease.predicate;
      const isCounted = lease.release === release.digest;
      const state = isCounted ? stateOf(lease, root, now) : 'void';
      rows.push([
        name,
        `lease ${version}`,
        `${issuedAt} until ${expires}`,
        state === 'void' ? `void: release ${release.predicate.version} came after it` : state,
      ]);
      leases.push({ channel: name, version, issuedAt, expires, state });
    }
    this.print({ rows });
    return { leases };
  }
}

const stateOf = (
  lease: Pick<StoredLease, 'root' | 'predicate'>,
  root: Pick<TrustRoot, 'version'>,
  now: Date,
): 'of an old key' | 'live' | 'ended' => {
  if (lease.root.version !== root.version) return 'of an old key';
  return isLiveLease(lease.predicate, now) ? 'live' : 'ended';
};
