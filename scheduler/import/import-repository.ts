import { FleetError } from '#bundles/errors';
import { openTools } from '../load/applications/tools/find-tool.ts';
import { fillFolder } from '../load/init/fill-folder.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import { openSources } from '../load/sources/open-sources.ts';
import { type ClusterComparison, comparePlatform } from './compare/compare-platform.ts';
import { readArgocd } from './argocd/read-argocd.ts';
import { readFlux } from './flux/read-flux.ts';
import type { Given, Imported, Note } from './imported.ts';
import { readClustersFile } from './read/known-clusters.ts';
import { openRepository, type Repository } from './read/open-repository.ts';
import { readRancherFleet } from './rancher-fleet/read-rancher-fleet.ts';
import type { Rendering } from './read/render-folder.ts';
import { type EnvironmentOf, toName } from './write/group-targets.ts';
import { planPlatform } from './write/plan-platform.ts';
import { describeNotes } from './write/describe-notes.ts';

export type Tool = 'flux' | 'argocd' | 'rancher-fleet';

export type ImportOptions = Omit<PlatformOptions, 'platform' | 'sources' | 'env' | 'signal'> & {
  readonly tool: Tool;
  /** A folder, or a Git URL with @ref. */
  readonly repository: string;
  readonly addresses: readonly string[];
  /** `<name>=<folder>` */
  readonly clusters: readonly string[];
  /** Folders with Applications to begin with. */
  readonly roots: readonly string[];
  /** A file with clusters and their labels. */
  readonly clustersFile: string | undefined;
  /** `<cluster>=<environment>`, or one environment for all. */
  readonly environments: readonly string[];
  /** `<name>=<value>` */
  readonly variables: readonly string[];
  /** `<chart>=<version>` */
  readonly chartVersions: readonly string[];
  readonly fleet: string;
  readonly to: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

export type ImportReport = {
  readonly commit: string | undefined;
  readonly files: readonly string[];
  readonly workloads: number;
  readonly notes: readonly Note[];
  readonly clusters: readonly ClusterComparison[];
};

const TITLES = { flux: 'Flux', argocd: 'Argo CD', 'rancher-fleet': 'Rancher Fleet' } as const;

/**
 * Reads an existing GitOps repository, writes a platform with the same objects on the same clusters into a new folder, builds it, and
 * compares both, object by object.
 * @throws FleetError USAGE for a folder that is not empty, before anything is written
 */
export const importRepository = async (options: ImportOptions): Promise<ImportReport> => {
  const sources = openSources(options);
  const repository = await openRepository(sources, options.repository, options.addresses);
  const imported = await readWith(options, repository);
  if (imported.clusters.every(({ units }) => units.length === 0))
    throw new FleetError('USAGE', `nothing of ${options.repository} can be imported`, {
      hint: imported.notes[0]
        ? `${imported.notes[0].subject}: ${imported.notes[0].what}`
        : 'Check the folder and the tool',
    });
  const { environmentOf, environments } = readEnvironments(options.environments, imported);
  refuseSameNames(imported, environmentOf, options.tool);
  const planned = planPlatform({
    imported,
    fleet: options.fleet,
    environments,
    environmentOf,
    tool: TITLES[options.tool],
  });
  const files = new Map([
    ...planned.files,
    ['IMPORT.md', Buffer.from(describeNotes(planned.notes, TITLES[options.tool]))] as const,
  ]);
  await fillFolder(
    options.to,
    [...files].map(([path, text]) => ({ path, text, mode: 0o644 })),
    options.signal,
  );
  const clusters = await comparePlatform({ ...options, platform: options.to, imported, planned });
  return {
    commit: repository.commit,
    files: [...files.keys()],
    workloads: new Set(planned.targets.map(({ workload }) => workload)).size,
    notes: planned.notes,
    clusters,
  };
};

const readWith = async (options: ImportOptions, repository: Repository): Promise<Imported> => {
  const given: Given = {
    variables: Object.fromEntries(readPairs('variable', options.variables)),
    chartVersions: new Map(readPairs('chart-version', options.chartVersions)),
  };
  const rendering: Rendering = {
    tools: openTools(options.env, options.signal),
    given,
    signal: options.signal,
  };
  const known = options.clustersFile === undefined ? [] : await readClustersFile(options.clustersFile);
  switch (options.tool) {
    case 'flux':
      return await readFlux({ ...rendering, repository, clusters: options.clusters });
    case 'argocd':
      return await readArgocd({ ...rendering, repository, roots: options.roots, clusters: known });
    case 'rancher-fleet':
      return await readRancherFleet({ ...rendering, repository, roots: options.roots, clusters: known });
  }
};

/** @throws FleetError USAGE */
const readPairs = (flag: string, given: readonly string[]): readonly (readonly [string, string])[] =>
  given.map((one) => {
    const at = flag === 'chart-version' ? one.lastIndexOf('=') : one.indexOf('=');
    if (at > 0) return [one.slice(0, at), one.slice(at + 1)] as const;
    throw new FleetError('USAGE', `--${flag} ${one} has no value`, {
      hint: `Write it like --${flag} name=value`,
    });
  });

const DEFAULT_ENVIRONMENT = 'live';

/** @throws FleetError USAGE */
const readEnvironments = (given: readonly string[], { clusters }: Imported) => {
  const mapped = new Map(
    given
      .filter((one) => one.includes('='))
      .map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
  );
  const [other = DEFAULT_ENVIRONMENT, ...more] = given.filter((one) => !one.includes('='));
  if (more.length > 0)
    throw new FleetError('USAGE', 'more than one environment is named for all clusters', {
      hint: 'Write --environment <cluster>=<environment> for each cluster',
    });
  const unknown = [...mapped.keys()].find((name) => !clusters.some((cluster) => cluster.name === name));
  if (unknown !== undefined)
    throw new FleetError(
      'USAGE',
      `--environment names the cluster ${unknown}, which the repository does not have`,
      {
        hint: `It has ${clusters.map(({ name }) => name).join(', ')}`,
      },
    );
  const environmentOf = (cluster: string): string => mapped.get(cluster) ?? other;
  const used = new Set(clusters.map(({ name }) => environmentOf(name)));
  const environments = [...new Set([...mapped.values(), other])].filter((name) => used.has(name));
  return { environmentOf, environments };
};

/** Two clusters of one name would get the objects of each other. @throws FleetError USAGE */
const refuseSameNames = ({ clusters }: Imported, environmentOf: EnvironmentOf, tool: Tool): void => {
  const known = new Map<string, string>();
  for (const { name } of clusters) {
    const type = `${environmentOf(name)}/${toName(name)}`;
    const other = known.get(type);
    if (other !== undefined)
      throw new FleetError(
        'USAGE',
        `the clusters ${other} and ${name} would both be the cluster type ${type}`,
        {
          hint:
            tool === 'flux'
              ? 'Name each with --cluster <name>=<folder>, or import them one by one'
              : 'Name each differently in a file of clusters, and import with --clusters FILE',
        },
      );
    known.set(type, name);
  }
};
