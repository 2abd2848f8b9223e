import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { layoutBlobs } from '#bundles/formats/layout/layout';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError, formatSentences } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { build } from '../build/build.ts';
import type { EnvironmentOutcome } from '../build/build-outcome.ts';
import { withBuildInputs } from '../build/load/with-build-inputs.ts';
import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import { platformOf } from '../assemble/candidate/platform-of.ts';
import { readCandidate } from '../assemble/candidate/read-candidate.ts';
import type { Enrolled } from '../plan/validate/sites/advise-sites.ts';
import { enrolledOf } from '../views/enrolled-of.ts';
import { type Configuration, readConfiguration } from '../settings/configuration.ts';
import {
  allowRemovalsFlag,
  configurationFlags,
  environmentFlag,
  registryFlags,
} from '../settings/configuration-flags.ts';
import { uniqueProblems } from '../model/problems.ts';
import type { ChannelOutcome } from '../build/channel-outcome.ts';
import { describeRemovals, type Removal } from '../release/removals/removal.ts';
import { heldLines, summariseHeld } from './held-lines.ts';
import { pruneCache } from '../load/sources/prune-cache.ts';
import { didYouMean } from '#bundles/nearest-name';
import { paragraph, type Table } from '#cli/format-table';
import type { Allowance } from '../settings/allowance.ts';

const { platform, keys, layout, cache, map, images, db } = configurationFlags;

export default class Build extends FleetCommand {
  static override description = `Builds signed bundles and releases of all environments into an OCI layout.

The same input gives the same bundles; a channel whose bundle did not change gets no new release. An assignment that fails is
held with its reason and blocks nobody else. Values of sites are judged before anything is signed, as validate does; with --db those of enrolled agents, too.`;
  static override examples = [
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --images images',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --pull-images --plain-http edge:5000',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --environment prod --previous out',
    '<%= config.bin %> build --platform examples/platform --keys keys --layout out --allow-removals order-api-cloud',
    '<%= config.bin %> build --candidate sha256:... --keys keys --layout out --environment qa',
  ];
  static override flags = {
    ...registryFlags,
    platform,
    keys,
    layout,
    cache,
    map,
    environment: environmentFlag('Only this environment'),
    images,
    db,
    'pull-images': Flags.boolean({
      description: 'Pull images that are in no layout from their registries',
    }),
    previous: Flags.string({ description: 'OCI layout whose packages replace those that are held' }),
    candidate: Flags.string({
      description:
        'Build from the sources of this candidate (a digest in a layout, or a file): its own environment, or others with their current layer',
    }),
    workers: Flags.integer({
      min: 1,
      max: 64,
      description: 'Bundles assembled in parallel [default: one per processor]',
    }),
    'allow-removals': allowRemovalsFlag,
    fleet: Flags.string({ description: "Fleet name, for Kalypso's form [default: the root's]" }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Build);
    const read = await readConfiguration(flags, process.cwd());
    const candidate =
      flags.candidate === undefined
        ? undefined
        : await this.readCandidate(flags.candidate, { layout: read.layout, previous: flags.previous });
    // The candidate has the address of a platform that was a repository.
    const configuration = {
      ...read,
      platform: read.platform ?? (candidate && platformOf(candidate.document)),
    };
    // The destinations of the configuration are for new builds; a candidate is published only to explicitly given ones.
    const environments = candidate ? flags.environment : configuration.environments;
    const places = { env: process.env, cwd: process.cwd(), signal: this.signal };
    const judgeSites = { enrolled: await this.#enrolled(read) };
    const outcome = await withBuildInputs(configuration, places, async (inputs) => {
      if (inputs.keys.root.dev) this.say(DEV_ROOT_NOTICE);
      const built = await build({
        ...inputs,
        ...defined({
          candidate,
          environments,
          fleet: flags.fleet,
          previous: flags.previous,
          judgeSites,
          workers: flags.workers,
        }),
        allowRemovals: configuration.allowRemovals,
        now: this.readNow(flags.now),
        onEnvironment: (environment) => this.tell(environment, inputs.layout),
      });
      await pruneCache(inputs.cacheDirectory, this.readNow(undefined));
      return built;
    });
    const removals = outcome.channels.flatMap((channel) => [...channel.removals, ...channel.unmeant]);
    for (const one of outcome.abandoned) this.say(formatError(one));
    const notes = explainIdle(configuration.allowRemovals, removals);
    for (const note of notes) this.say(note);
    const failed = outcome.environments.flatMap(({ problems }) => problems);
    const held = outcome.environments.flatMap(countHeld).reduce((sum, one) => sum + one, 0);
    if (held > 0) process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
    if (outcome.channels.some(({ waits }) => waits))
      process.exitCode = new FleetError('REMOVALS_HELD', '').exitCode;
    // Promoted, and it cannot be built again: nothing else says that its releases stand still.
    if (outcome.environments.some(({ waits, promoted }) => waits && promoted)) process.exitCode = 8;
    if (outcome.channels.some((channel) => channel.outcome === 'revoked'))
      process.exitCode = new FleetError('REVOKED', '').exitCode;
    const unpromoted = outcome.environments.flatMap(({ waits }) => waits ?? []);
    if (unpromoted[0] && unpromoted.length === outcome.environments.length)
      process.exitCode = unpromoted[0].exitCode;
    const [first] = failed;
    if (first) process.exitCode = first.exitCode;
    return {
      candidates: Object.fromEntries(
        outcome.environments.flatMap(({ environment, candidate: digest }) =>
          digest === undefined ? [] : [[environment, digest]],
        ),
      ),
      channels: outcome.channels.map(
        ({ held: lines, leaseVoid, fault, waits, takenBack, unread, ...channel }) => ({
          ...channel,
          ...defined({
            takenBack: takenBack ? this.toErrorJson(takenBack) : undefined,
            waits: waits ? this.toErrorJson(waits) : undefined,
            unread: unread ? this.toErrorJson(unread) : undefined,
            fault: fault ? this.toErrorJson(fault) : undefined,
            leaseVoid: leaseVoid ? this.toErrorJson(leaseVoid) : undefined,
          }),
          held: lines.map(({ error: _, ...line }) => line),
        }),
      ),
      promoted: outcome.environments.flatMap(({ promoted }) => promoted ?? []),
      notPromoted: outcome.environments.flatMap(({ environment, waits }) =>
        waits ? [{ environment, ...(this.toErrorJson(waits) as object) }] : [],
      ),
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
      advice: uniqueProblems(outcome.advice).map((it) => this.toErrorJson(it)),
      abandoned: outcome.abandoned.map((it) => this.toErrorJson(it)),
      notes,
    };
  }

  /** The agents of the hub, if a configuration names one. A hub that cannot be read stops no build. */
  async #enrolled(configuration: Configuration): Promise<Enrolled | undefined> {
    try {
      return await enrolledOf(configuration);
    } catch (error) {
      if (!(error instanceof FleetError) || error.code === 'ABORTED') throw error;
      this.say(`the values of enrolled sites are not judged: ${formatError(error)}`);
      return undefined;
    }
  }

  private async readCandidate(named: string, { layout, previous }: BuildPlaces): Promise<GivenCandidate> {
    const layouts = [layout, previous].filter((one) => one !== undefined).map((one) => layoutBlobs(one));
    return await readCandidate(named, layouts, this.signal);
  }

  /** Printed after each environment, so that the output of an interrupted build names its releases. */
  private tell(
    { environment, candidate, channels, heldWorkloads, advice, problems, waits }: EnvironmentOutcome,
    layout: string,
  ): void {
    if (waits) this.print(rowOf(environment, `not built: ${formatSentences(waits)}`));
    for (const channel of channels) {
      this.print(rowOf(formatChannel(channel), describeChannel(channel, layout)));
      for (const line of removalLines(channel)) this.print(paragraph(line));
      if (channel.unread) this.say(formatSentences(channel.unread));
      if (channel.waits) this.say(formatError(channel.waits));
      if (channel.fault)
        this.say(`${formatChannel(channel)}: its release was not renewed: ${formatError(channel.fault)}`);
      if (channel.leaseVoid)
        this.say(`${formatChannel(channel)}: its lease is now void: ${formatError(channel.leaseVoid)}`);
    }
    if (candidate && channels.some(({ outcome, restated }) => outcome === 'released' || restated))
      this.print(rowOf(environment, `candidate ${candidate}`));
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
    if (channels.some(({ outcome }) => outcome === 'awaiting'))
      this.say(`${environment}: signatures of bundle signers are missing; see fleet-scheduler approvals`);
    if (problems.length > 0) this.log(`${environment}: nothing was built`);
    else if (held.length + heldWorkloads.length > 0)
      this.log(
        `${environment}: ${summariseHeld(held.length, heldWorkloads.length)}; the others are not affected`,
      );
  }
}

/** Every package that a release removes, or would remove, with the reason. */
const removalLines = (channel: ChannelOutcome): readonly string[] => {
  const verb = channel.outcome === 'released' || channel.outcome === 'awaiting' ? 'removes' : 'would remove';
  const lines = describeRemovals(channel.removals, channel.clusterType).map(
    (line) => `${formatChannel(channel)} ${verb} ${line}`,
  );
  if (channel.outcome === 'removals-held') return lines;
  const kept = describeRemovals(channel.unmeant, channel.clusterType);
  return [...lines, ...kept.map((line) => `${formatChannel(channel)} keeps what it would remove: ${line}`)];
};

type BuildPlaces = { readonly layout: string | undefined; readonly previous: string | undefined };

const countHeld = ({ channels, heldWorkloads }: EnvironmentOutcome): number =>
  heldWorkloads.length +
  // Assignments that a person rolled back are not reported as errors.
  channels.reduce((sum, { held }) => sum + held.filter(({ code }) => code !== 'ROLLED_BACK').length, 0);

/** A row of the answer: of a channel, or of an environment. */
const rowOf = (name: string, text: string): Table => ({ rows: [[name, text]], min: [23] });

/** 'release 3 released  bundle sha256:0123456789ab, 2 assignments' */
const describeChannel = (channel: ChannelOutcome, layout: string): string => {
  const size = formatCount(channel.assignments, 'assignment');
  const bundle = channel.bundle ? shortDigest(channel.bundle) : '';
  switch (channel.outcome) {
    case 'empty':
      return channel.held.length > 0
        ? 'no release: all its assignments are held'
        : 'no release: no workload is assigned to it';
    case 'blocked':
      return `no release: it would remove packages that are only held. Keep the last good ones with: --previous ${layout}`;
    case 'removals-held': {
      const what = channel.removals.every(({ why }) => why === 'objects')
        ? 'objects of packages that stay'
        : 'packages although no object was deleted';
      return `no release: it would remove ${what}; sites keep release ${channel.version}`;
    }
    case 'direct-held':
      return `no release: it changed without a promotion, and the policy forbids that; sites keep release ${channel.version}`;
    case 'revoked':
      return `no release: bundle ${bundle} was revoked${channel.revoked ? ` at ${channel.revoked.at}: ${channel.revoked.reason}` : ''}`;
    case 'taken-back':
      return `no release: ${channel.takenBack?.message ?? 'its rollout was taken back'}; ${channel.takenBack?.hint ?? ''}`;
    case 'awaiting':
      return `awaiting approval of bundle ${bundle}, ${size}; sites keep ${channel.version === 0 ? 'what they have' : `release ${channel.version}`}`;
    case 'released':
    case 'renewed':
    case 'unchanged':
      return `release ${channel.version} ${channel.outcome}  bundle ${bundle}, ${size}${describeEffects(channel)}`;
  }
};

/** The effects of a release beside its bundle: ', rollout at stage pilot' */
const describeEffects = ({ restored, stage, superseded, direct }: ChannelOutcome): string =>
  [
    restored > 0 ? `, ${restored} lost or damaged blobs written again` : '',
    stage === undefined ? '' : `, rollout at stage ${stage}`,
    superseded ? `; ends the rollout of release ${superseded.version} at stage ${superseded.stage}` : '',
    direct ? ', direct change' : '',
  ].join('');

/**
 * One sentence for each name in --allow-removals that has no effect.
 * @param removals of all channels that were built
 */
const explainIdle = ({ names }: Allowance, removals: readonly Removal[]): readonly string[] => {
  const going = new Map(removals.map((removal) => [removal.assignment, removal]));
  return [...names].flatMap((name) => {
    const removal = going.get(name);
    if (removal?.why === 'held')
      return `--allow-removals does not remove ${name}, which is held: correct the error that holds it, delete its Workload, deployment target or policy, or give --previous with the layout of the last release`;
    if (removal) return [];
    return `--allow-removals names ${name}, which no release would remove. ${didYouMean(name, going.keys()) ?? ''}`.trim();
  });
};
