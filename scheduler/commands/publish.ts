import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { openLayout, layoutBlobs } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { formatBytes } from '#cli/format-bytes';
import type { Selection } from '#bundles/transport/publish/choose-pointers';
import { type PointerOutcome, publishLayout } from '#bundles/transport/publish/publish-layout';
import { addTransfers, type TransferCounts, NO_TRANSFERS } from '#bundles/transport/publish/send-batch';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import type { Table } from '#cli/format-table';
import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import { platformOf } from '../assemble/candidate/platform-of.ts';
import { readCandidate } from '../assemble/candidate/read-candidate.ts';
import { awaitingChannels } from '../release/approvals/awaiting.ts';
import { type Configuration, readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags, registryFlags, selectionFlags } from '../settings/configuration-flags.ts';
import { identityOf } from '../deliver/git/commit-identity.ts';
import { TOKEN_VARIABLE } from '../deliver/git/forge/forge.ts';
import { promotedOnly } from '../deliver/send/check-published.ts';
import { openDestination } from '../deliver/send/open-destination.ts';
import { deliverTrees } from '../deliver/tree/deliver-trees.ts';
import { isTreeTarget, parseTreeTarget } from '../deliver/tree/tree-target.ts';
import { deliveredLines, deliveredNotes } from './delivered-lines.ts';
import { platformOptions } from '../load/platform/platform-options.ts';

const { layout, registry, platform, cache, map } = configurationFlags;

export default class Publish extends FleetCommand {
  static override summary =
    'Publish releases to a registry, or the rendered tree to a Git branch or a directory';
  static override description =
    `Images, bundles and signatures are sent first, each under an immutable tag, and the tag that sites follow is moved last, so that a reader that finds a release finds all of it.

If the registry has a newer release than the layout, the channel is refused (ROLLBACK). Run it again after an interruption: it continues, with one request for each channel that is complete.

With --to it is the rendered GitOps tree of each environment that goes out instead, in Kalypso's layout: as one commit on a branch, as a proposal on a branch of its own (--pull-request), or to a directory. A pull request is opened where ${TOKEN_VARIABLE} (or GITHUB_TOKEN, for github.com) has a token. Equal already: nothing is written.`;
  static override examples = [
    '<%= config.bin %> publish oci://registry.example/factory/fleet --layout out',
    '<%= config.bin %> publish oci://registry.example/factory/fleet --layout out --environment prod --dry-run',
    '<%= config.bin %> publish /srv/fleet/mirror --layout out',
    '<%= config.bin %> publish --to git+https://git.example/gitops#dev --platform platform --environment dev',
    '<%= config.bin %> publish --to gitops --platform https://github.com/me/control-plane --pull-request',
    '<%= config.bin %> publish --to /srv/gitops --platform platform',
    '<%= config.bin %> publish --to git+https://git.example/gitops --candidate sha256:... --environment qa --layout out --pull-request',
  ];
  static override args = {
    destination: Args.string({
      description:
        'oci://host[:port]/prefix, or the folder of another layout [default: registry of the configuration]; git+<URL> is as --to',
    }),
  };
  static override flags = {
    ...registryFlags,
    ...selectionFlags,
    layout,
    registry,
    site: Flags.string({
      ...repeatable,
      description: 'Only the statement and receipts of this site',
    }),
    repair: Flags.boolean({ description: 'Look for every blob, and send again what the registry lost' }),
    'dry-run': Flags.boolean({ description: 'List what would be sent and its size, without sending' }),
    to: Flags.string({
      description:
        "Publish the rendered tree: git+<URL>[#branch] (a branch an environment), gitops (the environment's GitOpsRepo), or a directory",
    }),
    'pull-request': Flags.boolean({
      description:
        'With --to: propose the change on a branch of its own, and open a pull request where a token is given',
    }),
    forge: Flags.string({
      description:
        'With --pull-request: github, gitea, gitlab or azure, with =<address of its API> [default: the one of github.com, gitlab.com and dev.azure.com]',
    }),
    candidate: Flags.string({
      description:
        'With --to: render exactly this candidate (a digest in the layout, or a file) with the newest layer of the environment',
    }),
    committer: Flags.string({
      description: 'With --to: author and committer, like "Fleet Ferry <fleet-ferry@example.com>"',
    }),
    'sign-commits': Flags.boolean({
      description: "With --to: sign commits with git's own settings, gpg.format and user.signingkey",
    }),
    platform,
    cache,
    map,
    'stale-ok': Flags.boolean({
      description: 'With --to: use the last known state of a repository that does not answer',
    }),
    fleet: Flags.string({ description: "With --to: fleet name, for Kalypso's form" }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Publish);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const to =
      flags.to ?? (args.destination && isTreeTarget(args.destination) ? args.destination : undefined);
    if (to !== undefined) return await this.#deliver(to, configuration, flags, now);
    const about = ['pull-request', 'forge', 'candidate', 'committer', 'sign-commits'] as const;
    const given = about.find((name) => flags[name] !== undefined && flags[name] !== false);
    if (given !== undefined)
      throw new FleetError('USAGE', `--${given} is about the rendered tree`, {
        hint: 'Name its destination with --to, like --to git+https://git.example/gitops',
      });
    const selection: Selection = {
      channels: flags.channel?.map(parseChannel),
      environments: flags.environment?.map((name) => parseName(name, 'environment')),
      sites: flags.site?.map((name) => parseName(name, 'site')),
    };
    const source = await openLayout(requireSetting(configuration, 'layout'));
    const where = args.destination ?? requireSetting(configuration, 'registry');
    const options = registryOptions({ ...configuration, env: process.env });
    await using destination = await openDestination(where, options, now);
    const outcomes = await publishLayout(source, destination, {
      selection,
      dryRun: flags['dry-run'],
      repair: flags.repair,
      checkRelease: promotedOnly(source),
      now,
      signal: this.signal,
      onUpload: (repository, { digest, size }) => {
        if (size >= MIN_REPORTED_BYTES)
          this.say(`${repository}: ${shortDigest(digest)}, ${formatBytes(size)} uploaded`);
      },
      onRoot: ({ dev }) => {
        if (dev) this.say(DEV_ROOT_NOTICE);
      },
      onPointer: (outcome) => {
        if (outcome.outcome === 'failed') this.say(describePointer(outcome));
        else if (outcome.outcome !== 'unchanged') this.print(describePointer(outcome));
        const { repository, removes = [] } = outcome;
        if (removes.length > 0) this.print(`${repository}: sites lose ${removes.join(', ')}`);
      },
    });
    this.#conclude(outcomes, where);
    const awaiting = awaitingChannels(source).map(formatChannel);
    if (awaiting.length > 0)
      this.print(
        `awaiting approval, and not published: ${nameSome(awaiting)}; see fleet-scheduler approvals`,
      );
    return {
      destination: where,
      awaiting,
      pointers: outcomes.map(({ error, ...outcome }) => ({
        ...outcome,
        ...(error && (this.toErrorJson(error) as object)),
      })),
    };
  }

  async #deliver(to: string, configuration: Configuration, flags: TreeFlags, now: Date): Promise<unknown> {
    const candidate =
      flags.candidate === undefined ? undefined : await this.#readCandidate(flags.candidate, configuration);
    const named = candidate?.document.environment;
    // The destinations of the configuration are for current trees; a candidate is published only to explicitly given ones.
    const environments = candidate
      ? (flags.environment ?? (named === undefined ? undefined : [named]))
      : configuration.environments;
    const platform = configuration.platform ?? (candidate && platformOf(candidate.document));
    const delivered = await deliverTrees({
      ...platformOptions(
        { ...configuration, platform },
        { cwd: process.cwd(), env: process.env, signal: this.signal },
      ),
      to: parseTreeTarget(to),
      layout: configuration.layout,
      ...defined({ environments, fleet: flags.fleet }),
      staleOk: flags['stale-ok'],
      pullRequest: flags['pull-request'],
      identity: identityOf(configuration),
      ...defined({ candidate }),
      forge: configuration.forge,
      connection: registryOptions({ ...configuration, env: process.env }),
      env: process.env,
      dryRun: flags['dry-run'],
      now,
      signal: this.signal,
      onDelivered: (one) => {
        for (const line of deliveredNotes(one)) this.say(line);
        this.print(deliveredLines(one));
      },
    });
    if (delivered.some(({ held, heldWorkloads }) => held.length + heldWorkloads.length > 0))
      process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
    const [first] = delivered.flatMap(({ problems }) => problems);
    if (first) process.exitCode = first.exitCode;
    return {
      trees: delivered.map(({ held, heldWorkloads, advice, problems, waits, ...one }) => ({
        ...one,
        ...defined({ waits: waits ? this.toErrorJson(waits) : undefined }),
        held: held.map(({ assignment, error }) => ({
          assignment: assignment.target.name,
          clusterType: assignment.clusterType.name,
          ...(this.toErrorJson(error) as object),
        })),
        heldWorkloads: heldWorkloads.map(({ registration, errors }) => ({
          registration,
          problems: errors.map((error) => this.toErrorJson(error)),
        })),
        advice: advice.map((error) => this.toErrorJson(error)),
        problems: problems.map((error) => this.toErrorJson(error)),
      })),
    };
  }

  async #readCandidate(named: string, { layout }: Configuration): Promise<GivenCandidate> {
    return await readCandidate(named, layout === undefined ? [] : [layoutBlobs(layout)], this.signal);
  }

  #conclude(outcomes: readonly PointerOutcome[], where: string): void {
    const count = (wanted: PointerOutcome['outcome']): number =>
      outcomes.filter(({ outcome }) => outcome === wanted).length;
    const transfers = outcomes.map((it) => it.freight).reduce(addTransfers, NO_TRANSFERS);
    const verb = count('planned') > 0 ? 'to upload' : 'uploaded';
    const parts = (['planned', 'sent', 'superseded', 'unchanged', 'failed'] as const)
      .filter((outcome) => count(outcome) > 0)
      .map((outcome) => `${count(outcome)} ${outcome}`);
    const said = [parts.join(', ') || 'nothing to publish', formatTransfers(transfers, verb)];
    this.print(`${where}: ${said.filter(Boolean).join('; ')}`);
    const first = outcomes.find(({ error }) => error)?.error;
    if (first) process.exitCode = new FleetError(first.code, '').exitCode;
  }
}

type TreeFlags = {
  readonly fleet?: string | undefined;
  readonly candidate?: string | undefined;
  readonly environment?: readonly string[] | undefined;
  readonly 'pull-request': boolean;
  readonly 'stale-ok': boolean;
  readonly 'dry-run': boolean;
};

/** Size in bytes from which the upload of a blob is reported. */
const MIN_REPORTED_BYTES = 32 << 20;

/** 'prod/kiosk:release           release 3  sent: 4 blobs (1.20 MiB) uploaded' */
const describePointer = ({ repository, tag, name, outcome, freight, error }: PointerOutcome): Table => {
  const row = (text: string): Table => ({
    rows: [[`${repository}:${tag}`, name === undefined ? text : `${name}  ${text}`]],
    min: [31],
  });
  switch (outcome) {
    case 'unchanged':
      return row('unchanged');
    case 'sent':
      return row(`sent: ${formatTransfers(freight, 'uploaded')}`);
    case 'superseded':
      return row('superseded: another publish wrote a newer one meanwhile');
    case 'planned':
      return row(`would be sent: ${formatTransfers(freight, 'to upload')}`);
    case 'failed':
      return row(error ? formatError(error) : 'failed');
  }
};

/** '3 blobs (1.20 MiB) uploaded, 2 mounted, 5 there already'; '' where nothing was looked at. */
const formatTransfers = ({ uploaded, mounted, there, bytes }: TransferCounts, verb: string): string =>
  [
    ...(uploaded > 0 ? [`${formatCount(uploaded, 'blob')} (${formatBytes(bytes)}) ${verb}`] : []),
    ...(mounted > 0 ? [`${mounted} mounted`] : []),
    ...(there > 0 ? [`${there} there already`] : []),
  ].join(', ');
