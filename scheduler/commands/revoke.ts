import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { formatError } from '#bundles/errors';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { openKeyDirectory } from '../keys/key-directory.ts';
import { recordChange } from '../release/audit/record-change.ts';
import { followWithLeases } from '../release/lease/follow-with-leases.ts';
import { openReleases } from '../release/write/open-releases.ts';
import { readPrevious } from '../release/write/read-previous.ts';
import { findBundle } from '../release/revoke/find-bundle.ts';
import { revokeBundle } from '../release/revoke/revoke-bundle.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags } from '../settings/configuration-flags.ts';
import { personFlags, personAndReason } from './person-flags.ts';

const { config, keys, layout } = configurationFlags;

export default class Revoke extends FleetCommand {
  static override summary = 'Withdraw a bundle, so that no site installs it again';
  static override description =
    "The channel's list of withdrawn bundles only grows, and every release from now on carries it. The release that tells the sites is made at once; if the current one names the bundle, name its replacement: an older release (--to), or the next build.\n\nThe bundle keeps running at a site until that release arrives: by `publish`, or on the next medium.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> sha256:5f3c0a91b2d4 --reason "sends prices twice" --to 7',
    '<%= config.bin %> <%= command.id %> sha256:5f3c0a91b2d4 --reason "CVE in the web server" --with-next-build',
  ];
  static override args = {
    bundle: Args.string({ required: true, description: 'Digest of the bundle, or its first 12 digits' }),
  };
  static override flags = {
    config,
    keys,
    layout,
    channel: Flags.string({
      description: 'Its channel, environment/cluster type [default: found by the digest]',
    }),
    person: personFlags.person,
    reason: Flags.string({ required: true, description: 'Reason, which the list shows to every reader' }),
    to: Flags.integer({
      min: 1,
      description: 'Go back to the bundles of this release in the same step',
      exclusive: ['with-next-build'],
    }),
    'with-next-build': Flags.boolean({
      description:
        'Only record the revocation: the next build must make another bundle, and carries the list',
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Revoke);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const directory = requireSetting(configuration, 'layout');
    using releases = await openReleases(directory, { command: 'revoke', now });
    const layout = await releases.open();
    const named = flags.channel === undefined ? undefined : parseChannel(flags.channel);
    const { digest, channel } = findBundle(layout, args.bundle, named);
    const by = personAndReason(flags);
    const later = flags['with-next-build'] ? 'next build' : undefined;
    const current = (await readPrevious(layout, channel, keyDirectory.roots, now))?.predicate.version;
    const { news, version, references } = await revokeBundle(layout, keyDirectory, {
      channel,
      bundle: digest,
      reason: flags.reason,
      instead: flags.to === undefined ? later : { to: flags.to },
      now,
      signal: this.signal,
    });
    const change = {
      change: 'revoke',
      about: `${formatChannel(channel)} ${digest}`,
      ...by,
      old: { release: current ?? null },
      new: {
        release: version ?? null,
        instead: flags.to ?? (flags['with-next-build'] ? 'next build' : null),
      },
    };
    // Durable before the revocation is.
    if (news === 'revoked') await recordChange(releases, keyDirectory, change, now);
    await releases.point(references);
    for (const [, error] of await followWithLeases(releases, keyDirectory, [channel], now))
      this.say(`its lease is now void: ${formatError(error)}`);
    const where = formatChannel(channel);
    this.log(
      `bundle ${shortDigest(digest)} of ${where} ${news === 'known' ? 'was revoked before' : 'is revoked'}`,
    );
    if (version === undefined)
      this.say(
        `No release carries the revocation yet, and the current one still names the bundle: sites keep installing it until the next build of ${where} is published.`,
      );
    else this.log(`release ${version} of ${where} tells the sites; publish it, and fill the next media`);
    return { channel: where, bundle: digest, news, release: version ?? null };
  }
}
