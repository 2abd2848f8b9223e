import { Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { openRegistry } from '#bundles/registry/open-registry';
import { registryOptions } from '#bundles/registry/registry-access';
import { build, type EnvironmentOutcome } from '../build.ts';
import { readConfiguration, requireSetting } from '../configuration.ts';
import { configurationFlags, registryFlags } from '../configuration-flags.ts';
import { openImageRegistries } from '../images/image-places.ts';
import { eachOnce } from '../platform/problems.ts';
import type { ChannelOutcome } from '../publish/publish-environment.ts';
import { openKeyDirectory } from '../sign/key-directory.ts';
import { heldLines, summariseHeld } from './held-lines.ts';
import { platformOptions } from './platform-options.ts';

const { platform, keys, layout, cache, map, images } = configurationFlags;

export default class Build extends FleetCommand {
  static override description = `Builds signed bundles and releases of all environments into an OCI layout.

The same input gives the same bundles; a channel whose bundle did not change gets no new release. An assignment that fails is
held with its reason and blocks nobody else.`;
  static override examples = [
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --images images',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --pull-images --plain-http edge:5000',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --environment prod --previous out',
  ];
  static override flags = {
    ...registryFlags,
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
    images,
    'pull-images': Flags.boolean({
      description: 'Take images that are in no layout from the registries their names say',
    }),
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
    await using registries = openImageRegistries(
      registryOptions({ ...configuration, env: process.env }),
      openRegistry,
    );
    const outcome = await build({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...(configuration.environments && { environments: configuration.environments }),
      ...(flags.fleet !== undefined && { fleet: flags.fleet }),
      ...(configuration.images !== undefined && { images: configuration.images }),
      ...(configuration.pullImages && { pull: (name: string) => registries.repository(name).blobs }),
      ...(flags.previous !== undefined && { previous: flags.previous }),
      ...(flags.workers !== undefined && { workers: flags.workers }),
      keys: keyDirectory,
      layout: requireSetting(configuration, 'layout'),
      now: this.readNow(flags.now),
      signal: this.signal,
      onEnvironment: (environment) => this.tell(environment),
    });
    const failed = outcome.environments.flatMap(({ problems }) => problems);
    const held = outcome.environments.flatMap(countHeld).reduce((sum, one) => sum + one, 0);
    if (held > 0) process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
    const [first] = failed;
    if (first) process.exitCode = first.exitCode;
    return {
      channels: outcome.channels.map(({ held: lines, ...channel }) => ({
        ...channel,
        held: lines.map(({ error: _, ...line }) => line),
      })),
      heldWorkloads: outcome.environments.flatMap(({ environment, heldWorkloads }) =>
        heldWorkloads.map(({ registration, errors }) => ({
          environment,
          registration,
          problems: errors.map((it) => this.toErrorJson(it)),
        })),
      ),
      problems: outcome.environments.flatMap(({ environment, problems }) =>
        problems.map((it) => ({ environment, ...(this.toErrorJson(it) as object) })),
      ),
      advice: eachOnce(outcome.advice).map((it) => this.toErrorJson(it)),
    };
  }

  /** Told when it is done, so that a build that is stopped later has said what it released. */
  private tell({ environment, channels, heldWorkloads, advice, problems }: EnvironmentOutcome): void {
    for (const channel of channels) this.say(describeChannel(channel));
    const held = channels.flatMap((channel) =>
      channel.held.map(({ assignment, error, kept }) => ({
        name: `${channel.clusterType}/${assignment}`,
        error,
        kept: kept !== undefined,
      })),
    );
    for (const line of heldLines(held)) this.say(line);
    for (const { errors } of heldWorkloads)
      for (const error of errors) this.say(`held: ${formatError(error)}`);
    for (const one of advice) this.say(`advice: ${formatError(one)}`);
    for (const problem of problems) this.say(formatError(problem));
    if (problems.length > 0) this.say(`${environment}: nothing was built`);
    else if (held.length + heldWorkloads.length > 0)
      this.say(
        `${environment}: ${summariseHeld(held.length, heldWorkloads.length)}; the others are not affected`,
      );
  }
}

const countHeld = ({ channels, heldWorkloads }: EnvironmentOutcome): number =>
  heldWorkloads.length + channels.reduce((sum, { held }) => sum + held.length, 0);

/** 'prod/kiosk  release 3 released  bundle sha256:0123456789ab, 2 assignments' */
const describeChannel = (channel: ChannelOutcome): string => {
  const name = formatChannel(channel).padEnd(24);
  const size = `${channel.assignments} assignment${channel.assignments === 1 ? '' : 's'}`;
  const restored = channel.restored > 0 ? `, ${channel.restored} lost or damaged blobs written again` : '';
  switch (channel.outcome) {
    case 'empty':
      return channel.held.length > 0
        ? `${name} no release: all that belongs there is held`
        : `${name} no release: no policy puts anything there`;
    case 'blocked':
      return `${name} no release: it would remove what is only held. Give --previous with the layout of the last release.`;
    case 'released':
    case 'unchanged':
      return `${name} release ${channel.version} ${channel.outcome.padEnd(9)} bundle ${channel.bundle ? shortDigest(channel.bundle) : ''}, ${size}${restored}`;
  }
};
