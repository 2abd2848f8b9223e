import { existsSync } from 'node:fs';
import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { isDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { openLayout, layoutBlobs } from '#bundles/formats/layout/layout';
import { parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { openHub } from '../hub/open-hub.ts';
import { diffSites } from '../views/sites/diff-sites.ts';
import { formatTouched } from '../views/sites/touched-agents.ts';
import { didYouMean } from '#bundles/nearest-name';
import { readCandidate } from '../assemble/candidate/read-candidate.ts';
import {
  type Configuration,
  type GivenSettings,
  readConfiguration,
  requireSetting,
} from '../settings/configuration.ts';
import { configurationFlags, environmentFlag, platformFlags } from '../settings/configuration-flags.ts';
import { type Delivered, diffDelivered } from '../views/diff/diff-delivered.ts';
import { differs, type EnvironmentDiff } from '../views/diff/compare-environments.ts';
import { diffPlatform } from '../views/diff/diff-platform.ts';
import { formatDiff } from '../views/diff/format-diff.ts';
import { formatMarkdown } from '../views/diff/format-markdown.ts';
import { isTreeTarget, parseTreeTarget } from '../deliver/tree/tree-target.ts';
import { platformOptions } from '../load/platform/platform-options.ts';

/** Named states for `--against`. */
const STATES = ['release', 'gitops', 'repositories'];

export default class Diff extends FleetCommand {
  static override description =
    `Shows what a change of the platform does: every rendered object that would be created, configured or deleted, by cluster type and assignment.

Objects are compared by what they say, matched by kind, namespace and name. Values of Secrets are not shown. Without --from a directory is compared with its last commit, without --to with its files as they are. --from and --to are states of the platform's own repository; with --against, changes in the repositories of applications show too.

With --site or --sites it is about sites: which values would differ at which agents, and which packages would be applied again.`;
  static override examples = [
    '<%= config.bin %> diff --platform platform --environment prod',
    '<%= config.bin %> diff --platform https://git.example/platform --from main --to feature --markdown',
    '<%= config.bin %> diff --platform platform --layout releases --against release',
    '<%= config.bin %> diff --platform https://git.example/platform --map https://git.example/shop=. --against repositories --markdown',
    '<%= config.bin %> diff --site plant-7 --platform platform --keys keys --layout out --db hub.db',
    '<%= config.bin %> diff --platform https://git.example/control-plane --environment dev --from dev --to feature --exit-code',
  ];
  static override flags = {
    ...platformFlags,
    environment: environmentFlag('Only this environment [default: all]'),
    from: Flags.string({ description: 'Branch, tag or commit of the platform repository to compare with' }),
    to: Flags.string({ description: 'Branch, tag or commit to compare' }),
    branch: Flags.string({
      description:
        'Branch of the platform that --from and --to are states of [default: --from, if the platform reads a branch of that name]',
    }),
    against: Flags.string({
      description:
        'Compare with what was delivered: release (the newest ones in --layout), a candidate (its digest or file), gitops or git+<URL>[#branch] (the rendered tree), or repositories (without --map)',
      exclusive: ['from', 'to', 'branch'],
    }),
    site: Flags.string({
      description:
        'Compare with what this site has now instead: values by name, and packages that would be applied again',
      ...repeatable,
      exclusive: ['from', 'to', 'branch', 'against', 'sites', 'markdown'],
    }),
    sites: Flags.boolean({
      description: 'The same for all sites',
      exclusive: ['from', 'to', 'branch', 'against', 'markdown'],
    }),
    layout: configurationFlags.layout,
    keys: configurationFlags.keys,
    db: configurationFlags.db,
    markdown: Flags.boolean({
      description: 'As a comment for a pull request, at most 65536 characters',
      exclusive: ['json'],
    }),
    'exit-code': Flags.boolean({ description: 'End with 8 where there is a difference' }),
    'stale-ok': Flags.boolean({
      description: 'Use the last known state of a repository that does not answer',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Diff);
    const configuration = await readConfiguration(flags, process.cwd());
    const options = {
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      env: process.env,
      signal: this.signal,
      staleOk: flags['stale-ok'],
      ...defined({ environments: flags.environment, fleet: flags.fleet }),
    };
    const { against, from, to, branch } = flags;
    if (flags.site !== undefined || flags.sites)
      return await this.#diffSites(options, configuration, {
        sites: flags.site?.map((site) => parseName(site, 'site')),
        exitCode: flags['exit-code'],
      });
    const diffs =
      against === undefined
        ? await diffPlatform({ ...options, from, to, branch })
        : await diffDelivered(options, await this.#delivered(against, flags, configuration));
    this.logText((flags.markdown ? formatMarkdown(diffs) : formatDiff(diffs)).trimEnd());
    if (flags['exit-code'] && diffs.some(differs))
      process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
    const [first] = diffs.flatMap(({ problems }) => problems);
    if (first) process.exitCode = first.exitCode;
    return { environments: diffs.map((diff) => this.#toJson(diff)) };
  }

  async #diffSites(
    options: Parameters<typeof diffSites>[0],
    configuration: Configuration,
    { sites, exitCode }: { readonly sites: readonly string[] | undefined; readonly exitCode: boolean },
  ): Promise<unknown> {
    await using hub = await openHub(configuration);
    const { agents, findings } = await diffSites(options, hub, sites);
    for (const line of formatTouched(agents, agents.length)) this.log(line);
    for (const { error } of findings) this.say(`! ${formatError(error)}`);
    if (exitCode && agents.some(({ assignments }) => assignments.length > 0))
      process.exitCode = new FleetError('ASSIGNMENTS_HELD', '').exitCode;
    return {
      agents,
      findings: findings.map(({ error, ...one }) => ({ ...one, ...(this.toErrorJson(error) as object) })),
    };
  }

  /**
   * @throws FleetError USAGE for a name that is not a state, for 'release' without a layout, for 'repositories' without --map; MEDIUM_MISSING,
   *   LAYOUT_INVALID for the layout; MISSING_BLOB, BAD_JSON, SCHEMA for the candidate
   */
  async #delivered(against: string, flags: GivenSettings, configuration: Configuration): Promise<Delivered> {
    const { layout } = configuration;
    if (against === 'release')
      return { kind: 'release', layout: await openLayout(requireSetting(configuration, 'layout')) };
    if (against === 'gitops' || isTreeTarget(against)) {
      const target = parseTreeTarget(against);
      if (target.kind !== 'directory') return { kind: 'tree', target };
    }
    if (against === 'repositories') {
      const { maps } = await readConfiguration({ ...flags, map: [] }, process.cwd());
      if (maps.length < configuration.maps.length) return { kind: 'repositories', maps };
      throw new FleetError('USAGE', 'without --map there is no change to compare with the repositories', {
        hint: 'Give the change as a directory: --map https://git.example/shop=.',
      });
    }
    if (!isDigest(against) && !existsSync(against)) {
      throw new FleetError('USAGE', `--against ${JSON.stringify(against)} is not a state to compare with`, {
        hint: `${didYouMean(against, STATES) ?? ''}Write ${STATES.join(', ')}, git+<URL>, or a candidate as its digest sha256:... or its file`,
      });
    }
    const layouts = layout === undefined ? [] : [layoutBlobs(layout)];
    return { kind: 'candidate', candidate: await readCandidate(against, layouts, this.signal) };
  }

  #toJson({ clusterTypes, problems, unread, ...diff }: EnvironmentDiff): unknown {
    return {
      ...diff,
      clusterTypes: clusterTypes.map(({ assignments, ...type }) => ({
        ...type,
        assignments: assignments.map(({ error, ...one }) => ({
          ...one,
          ...(error && (this.toErrorJson(error) as object)),
        })),
      })),
      problems: problems.map((error) => this.toErrorJson(error)),
      unread: unread.map((error) => this.toErrorJson(error)),
    };
  }
}
