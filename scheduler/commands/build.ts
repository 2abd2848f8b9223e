import { Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { FleetCommand } from '#bundles/program/fleet-command';
import { build, type ChannelOutcome, channelOf } from '../build.ts';
import { readConfiguration, requireSetting } from '../configuration.ts';
import { configurationFlags } from '../configuration-flags.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';
import { platformOptions } from './platform-options.ts';

const { config, platform, keys, layout, cache, map } = configurationFlags;

export default class Build extends FleetCommand {
  static override description = `Builds signed bundles and releases of all environments into an OCI layout.

The same input gives the same bundles; a channel whose bundle did not change gets no new release. An assignment that fails is
held with its reason and blocks nobody else.`;
  static override examples = [
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --images images',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --environment prod --previous out',
  ];
  static override flags = {
    config,
    platform,
    keys,
    layout,
    cache,
    map,
    environment: Flags.string({
      char: 'e',
      multiple: true,
      multipleNonGreedy: true,
      description: 'Only this environment',
    }),
    images: Flags.string({ description: 'OCI layout that holds the images the manifests name' }),
    previous: Flags.string({ description: 'OCI layout whose packages stand in for what is held' }),
    workers: Flags.integer({ min: 1, max: 64, description: 'Threads that render [default: by size]' }),
    fleet: Flags.string({ description: "Fleet name, for Kalypso's form [default: the root's]" }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Build);
    const configuration = await readConfiguration(flags, process.cwd());
    const keyDirectory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    if (keyDirectory.root.dev)
      this.say('These keys are a DEV root: one person can sign everything. Use it to try things out only.');
    const outcome = await build({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...(flags.environment && { environments: flags.environment }),
      ...(flags.fleet !== undefined && { fleet: flags.fleet }),
      ...(flags.images !== undefined && { images: flags.images }),
      ...(flags.previous !== undefined && { previous: flags.previous }),
      ...(flags.workers !== undefined && { workers: flags.workers }),
      keys: keyDirectory,
      layout: requireSetting(configuration, 'layout'),
      now: this.readNow(flags.now),
      signal: this.signal,
    });
    for (const channel of outcome.channels) this.tell(channel);
    for (const one of outcome.advice) this.say(`advice: ${formatError(one)}`);
    const held = outcome.channels.flatMap((channel) => channel.held);
    if (held.length > 0) {
      process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
      this.say(`${held.length} assignments are held; the others are not affected`);
    }
    return {
      channels: outcome.channels.map(({ held: lines, ...channel }) => ({
        ...channel,
        held: lines.map(({ error: _, ...line }) => line),
      })),
      advice: outcome.advice.map((it) => this.toErrorJson(it)),
    };
  }

  private tell(channel: ChannelOutcome): void {
    for (const { error, kept } of channel.held) {
      this.say(
        `held: ${formatError(error)}${kept ? ` The package ${shortDigest(kept)} of the previous release stays.` : ''}`,
      );
    }
    const name = channelOf(channel).padEnd(24);
    if (channel.outcome === 'empty') return;
    if (channel.outcome === 'blocked') {
      this.say(
        `${name} no release: it would remove what is only held. Give --previous with the layout of the last release.`,
      );
      return;
    }
    const what = channel.bundle
      ? `bundle ${shortDigest(channel.bundle)}, ${channel.assignments} assignments`
      : '';
    this.say(`${name} release ${channel.version} ${channel.outcome.padEnd(9)} ${what}`);
  }
}
