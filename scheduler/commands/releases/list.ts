import { Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { channelsIn, choosePointers } from '#bundles/transport/publish/choose-pointers';
import { parseTime } from '#bundles/time';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { directReleases } from '../../release/reissue/direct-releases.ts';
import { type ListedRelease, listReleases, releaseJson } from '../../release/reissue/list-releases.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';

const { config, keys, layout } = configurationFlags;

export default class ReleasesList extends FleetCommand {
  static override description =
    'Releases of a channel that the layout has: number, bundle, how long it can be installed, whether it is a direct change, and whether it was withdrawn.\n\nPass the number to `releases rollback`. Each release is verified under the root of its time.';
  static override examples = ['<%= config.bin %> <%= command.id %> --channel prod/factory-host'];
  static override flags = {
    config,
    keys,
    layout,
    channel: Flags.string({
      ...repeatable,
      description: 'Only this channel, environment/cluster type',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ReleasesList);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const { roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const wanted = flags.channel?.map(parseChannel);
    choosePointers(opened, { channels: wanted });
    const channels = wanted ?? channelsIn(opened).map((name) => parseChannel(name));
    const listed = [];
    const rows: (readonly string[])[] = [];
    for (const channel of channels) {
      const releases = await listReleases(opened, channel, roots);
      const numbers = await directReleases(opened, releases);
      const marked = releases.map((one) => ({ ...one, direct: numbers.has(one.release.predicate.version) }));
      for (const one of marked) rows.push(describeRelease(formatChannel(channel), one, now));
      listed.push({
        channel: formatChannel(channel),
        releases: marked.map((one) => ({ ...releaseJson(one), direct: one.direct })),
      });
    }
    this.print({ rows });
    return { channels: listed };
  }
}

/** `direct`: the bundle changed, and nothing was promoted. */
type Marked = ListedRelease & { readonly direct: boolean };

/** 'prod/kiosk', 'release 8', 'sha256:0123456789ab', '2026-11-21T08:00:00Z until 2027-05-20T08:00:00Z', 'current' */
const describeRelease = (
  name: string,
  { release, bundles, current, revoked, direct }: Marked,
  now: Date,
): readonly string[] => {
  const { version, issuedAt, expires } = release.predicate;
  const notes = [
    current ? 'current' : '',
    direct ? 'direct change' : '',
    parseTime(expires) <= now ? 'ENDED' : '',
    revoked === undefined ? '' : `REVOKED ${revoked}`,
  ].filter(Boolean);
  const named = bundles.map((digest) => shortDigest(digest)).join(' ');
  return [name, `release ${version}`, named, `${issuedAt} until ${expires}`, notes.join('  ')];
};
