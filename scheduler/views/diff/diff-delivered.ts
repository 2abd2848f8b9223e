import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import type { GivenCandidate } from '../../assemble/candidate/given-candidate.ts';
import { lockedSources } from '../../assemble/candidate/locked-sources.ts';
import { platformOf } from '../../assemble/candidate/platform-of.ts';
import { listEnvironments } from '../../load/list-environments.ts';
import { loadPlatform, sourcesOf } from '../../load/load-platform.ts';
import type { Platform } from '../../model/model.ts';
import { didYouMean } from '#bundles/nearest-name';
import { type Location, locate, type SourceMap } from '../../model/location.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { redactUrl, repositoryKey } from '../../model/repository-url.ts';
import type { TreeTarget } from '../../deliver/tree/tree-target.ts';
import { renderEnvironment } from '../../render/render-environment.ts';
import type { EnvironmentDiff } from './compare-environments.ts';
import { compareViews, isView, viewOrProblems } from './compare-views.ts';
import type { DiffOptions } from './diff-platform.ts';
import { type EnvironmentView, viewEnvironment } from './view-environment.ts';
import { viewReleases } from './view-releases.ts';
import { viewTree } from './view-tree.ts';

/** The delivered state that the platform is compared with. */
export type Delivered =
  /** The newest releases in a layout. */
  | { readonly kind: 'release'; readonly layout: Layout }
  /** The state that a candidate fixes. */
  | { readonly kind: 'candidate'; readonly candidate: GivenCandidate }
  /** The branch that holds the rendered tree. */
  | { readonly kind: 'tree'; readonly target: Exclude<TreeTarget, { kind: 'directory' }> }
  /** The current state of all repositories, with these maps only. */
  | { readonly kind: 'repositories'; readonly maps: readonly SourceMap[] };

export type DeliveredDiffOptions = Omit<DiffOptions, 'from' | 'to' | 'branch'>;

/**
 * Compares the delivered state with the current platform and applications, environment by environment. Problems of an
 * environment that cannot be read are part of its result, and the others are compared.
 * @throws FleetError PLATFORM_INVALID, SOURCE_MISSING, SOURCE_UNREACHABLE; as openLayout
 */
export const diffDelivered = async (
  options: DeliveredDiffOptions,
  delivered: Delivered,
): Promise<readonly EnvironmentDiff[]> => {
  const sources = sourcesOf(options);
  const diffs: EnvironmentDiff[] = [];
  for (const environment of await chooseEnvironments(options, sources, delivered)) {
    options.signal.throwIfAborted();
    const now = await viewOrProblems(environment, async () => {
      const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
      return await viewNow(platform, sources, { options, delivered });
    });
    const before = await viewOrProblems(environment, () =>
      viewBefore(environment, sources, { options, delivered, now: isView(now) ? now : undefined }),
    );
    diffs.push(compareViews(environment, before, now));
  }
  return diffs;
};

const chooseEnvironments = async (
  options: DeliveredDiffOptions,
  sources: Sources,
  delivered: Delivered,
): Promise<readonly string[]> => {
  const known = await listEnvironments({ ...options, sources });
  const own = delivered.kind === 'candidate' ? delivered.candidate.document.environment : undefined;
  const asked = options.environments ?? (own === undefined ? known : [own]);
  const unknown = asked.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(asked)];
  throw new FleetError('PLATFORM_INVALID', `the platform has no environment ${JSON.stringify(unknown)}`, {
    hint: `${didYouMean(unknown, known) ?? ''}It has ${known.join(', ')}`,
  });
};

type Comparison = {
  readonly options: DeliveredDiffOptions;
  readonly delivered: Delivered;
  /** The current state, as far as it can be read. */
  readonly now?: EnvironmentView | undefined;
};

/** The part of the current state that the delivered one can have. */
const viewNow = async (
  platform: Platform,
  sources: Sources,
  { options, delivered }: Comparison,
): Promise<EnvironmentView> => {
  if (delivered.kind !== 'tree')
    return await viewEnvironment(platform, sources, {
      ...options,
      onlyBundles: delivered.kind === 'release',
    });
  const { tree, isKept, result } = renderEnvironment(platform);
  return viewTree(tree, { isKept, held: result.held });
};

const viewBefore = async (
  environment: string,
  sources: Sources,
  { options, delivered, now }: Comparison,
): Promise<EnvironmentView | undefined> => {
  const load = (platform: string, from: Sources): Promise<Platform> =>
    loadPlatform({ ...options, platform, sources: from, environment, holdWorkloads: true });
  switch (delivered.kind) {
    case 'release':
      return await viewReleases(delivered.layout, environment, options.signal, now);
    case 'candidate': {
      const { candidate } = delivered;
      const locked = lockedSources(unmapped(sources, candidate), candidate, environment);
      const platform = await load(platformOf(candidate.document) ?? options.platform, locked);
      return await viewEnvironment(platform, locked, { ...options, candidate });
    }
    case 'repositories': {
      const plain = sourcesOf({ ...options, maps: delivered.maps });
      return await viewEnvironment(await load(options.platform, plain), plain, options);
    }
    case 'tree': {
      const location = treeOf(await load(options.platform, sources), delivered.target);
      const { files } = await sources.read({
        role: 'delivered',
        location,
        path: '.',
        which: 'all',
        ignore: 'none',
      });
      return viewTree(new Map(files.map(({ path, bytes }) => [path, bytes])));
    }
  }
};

/** Sources that a candidate names by commit are read from their repository, even if a map names a directory for it. */
const unmapped = (sources: Sources, { document }: GivenCandidate): Sources => {
  const locked = new Set(
    document.sources.flatMap(({ repo, commit }) => (commit === undefined ? [] : [repositoryKey(repo)])),
  );
  return {
    ...sources,
    locate: (repo, revision) =>
      locked.has(repositoryKey(redactUrl(repo)))
        ? locate([], repo, revision)
        : sources.locate(repo, revision),
  };
};

/** @throws FleetError REFERENCE_MISSING */
const treeOf = (
  { gitOps, environment }: Platform,
  target: Extract<Delivered, { kind: 'tree' }>['target'],
): Location => {
  const { repo, branch } = target.kind === 'git' ? target : (gitOps ?? {});
  if (repo !== undefined)
    return { kind: 'git', repo, revision: { kind: 'branch', name: branch ?? environment } };
  throw new FleetError('REFERENCE_MISSING', `environment ${environment} names no GitOpsRepo`, {
    subject: environment,
    hint: 'Name the branch with --against git+<URL>#<branch>, or add a GitOpsRepo to the environment',
  });
};
