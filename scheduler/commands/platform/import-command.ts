import { relative, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { isRepositoryUrl } from '../../model/repository-url.ts';
import { describeImport, isComplete } from '../../import/describe-import.ts';
import { importRepository, type Tool } from '../../import/import-repository.ts';
import { cacheFolder } from '../../load/platform/platform-options.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { environmentFlag, platformFlags } from '../../settings/configuration-flags.ts';

export type ImportVerb = {
  readonly tool: Tool;
  readonly description: string;
  readonly examples: string[];
  /** Flags that only this tool has. */
  readonly own: Partial<typeof TOOL_FLAGS>;
};

/** Flags of single tools. */
export const TOOL_FLAGS = {
  cluster: Flags.string({
    ...repeatable,
    description: 'A cluster and its folder, <name>=<folder> [default: found in the repository]',
  }),
  variable: Flags.string({
    ...repeatable,
    description: 'Value of a variable that the repository does not have, <name>=<value>',
  }),
  root: Flags.string({
    ...repeatable,
    description:
      'Folder to begin with: of Applications, or as paths of a GitRepo [default: found in the repository]',
  }),
  clusters: Flags.string({
    description:
      'YAML list of clusters, each with name, server and labels, by which generators and targets select them',
  }),
};

type ToolValues = {
  readonly cluster?: readonly string[] | undefined;
  readonly variable?: readonly string[] | undefined;
  readonly root?: readonly string[] | undefined;
  readonly clusters?: string | undefined;
};

const { config, cache, map } = platformFlags;

/** `import <tool> <repository>`: the verbs differ only in what they read. */
export const importCommand = ({ tool, description, examples, own }: ImportVerb) =>
  class Import extends FleetCommand {
    static override description = description;
    static override examples = examples;
    static override args = {
      repository: Args.string({
        required: true,
        description: 'Folder, or Git URL with @branch, @tag or @commit',
      }),
    };
    static override flags = {
      config,
      cache,
      map,
      fleet: Flags.string({ required: true, description: 'Name the fleet shall have' }),
      to: Flags.string({ required: true, description: 'Folder to write the platform to: new, or empty' }),
      environment: environmentFlag(
        'Environment of all clusters, or <cluster>=<environment>, in the order of the chain [default: live]',
      ),
      ...own,
      address: Flags.string({
        ...repeatable,
        description: 'Another address by which the objects name this repository',
      }),
      'chart-version': Flags.string({
        ...repeatable,
        description: 'Exact version of a chart that is named by a range, <address of the chart>=<version>',
      }),
    };

    async run(): Promise<unknown> {
      const { flags, args } = await this.parse(Import);
      const mine: ToolValues = flags;
      const configuration = await readConfiguration(flags, process.cwd());
      const here = (path: string): string => relative(process.cwd(), resolve(path)) || '.';
      const to = here(flags.to);
      const report = await importRepository({
        tool,
        repository: isRepositoryUrl(args.repository) ? args.repository : here(args.repository),
        maps: configuration.maps,
        cacheDirectory: cacheFolder(configuration, process.env),
        env: process.env,
        fleet: parseName(flags.fleet, 'fleet'),
        to,
        environments: flags.environment ?? [],
        clusters: mine.cluster ?? [],
        roots: mine.root ?? [],
        clustersFile: mine.clusters,
        addresses: flags.address ?? [],
        variables: mine.variable ?? [],
        chartVersions: flags['chart-version'] ?? [],
        signal: this.signal,
      });
      for (const line of describeImport(report, to)) this.log(line);
      if (!isComplete(report)) process.exitCode = 8;
      return {
        ...report,
        clusters: report.clusters.map((one) => ({
          ...one,
          held: one.held.map(({ workload, error }) => ({ workload, ...(this.toErrorJson(error) as object) })),
        })),
      };
    }
  };
