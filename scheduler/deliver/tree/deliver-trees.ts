import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { checkSources } from '../../assemble/candidate/check-candidate.ts';
import { lockedSources } from '../../assemble/candidate/locked-sources.ts';
import { toCandidateSource } from '../../assemble/candidate/make-candidate.ts';
import { environmentsOf } from '../../load/list-environments.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { findRoot, loadPlatform, type Root, sourcesOf } from '../../load/load-platform.ts';
import type { HeldAssignment, HeldWorkload, Platform } from '../../model/model.ts';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { type Chain, cannotBuildPromoted, loadPolicies, openChain } from '../../release/chain/open-chain.ts';
import { newProblems, problemsOf, throwProblems } from '../../model/problems.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import { type RenderedEnvironment, renderEnvironment } from '../../render/render-environment.ts';
import { type BranchDelivery, deliverBranch } from '../git/deliver-branch.ts';
import type { Changes } from '../git/plan-changes.ts';
import { proposeBranch } from '../git/propose-branch.ts';
import { deliverDirectory } from './deliver-directory.ts';
import type { TreeTarget } from './tree-target.ts';

export type TreeDelivery = PlatformOptions & {
  readonly to: TreeTarget;
  /** Default: all. */
  readonly environments?: readonly string[];
  readonly fleet?: string;
  /** Layout with the audit log and the candidates: without it nothing is delivered of a chained environment. */
  readonly layout?: string | undefined;
  /** Push to a separate branch and, with a token, open a pull request, instead of committing to the branch. */
  readonly pullRequest: boolean;
  readonly forge: string | undefined;
  readonly connection: RegistryOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly dryRun?: boolean;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Called after each environment. */
  readonly onDelivered?: (delivered: Delivered) => void;
};

/** Result for one environment's tree. */
export type Delivered = {
  readonly environment: string;
  /** '<repository URL without credentials> <branch>', or the folder; undefined if it failed. */
  readonly to: string | undefined;
  readonly outcome:
    | 'pushed'
    | 'proposed'
    | 'written'
    | 'unchanged'
    | 'declined'
    | 'planned'
    | 'waiting'
    | 'failed';
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** '<cluster type>/<deployment target>' of the packages whose folder is removed. */
  readonly removedPackages: readonly string[];
  readonly unchanged: number;
  readonly commit?: string | undefined;
  /** The branch of the proposal. */
  readonly proposal?: string | undefined;
  /** URL of the pull request, for people. */
  readonly pullRequest?: string | undefined;
  readonly superseded: readonly string[];
  readonly held: readonly HeldAssignment[];
  readonly heldWorkloads: readonly HeldWorkload[];
  readonly advice: readonly FleetError[];
  /** Why the tree was not delivered. */
  readonly problems: readonly FleetError[];
  /** NOT_PROMOTED, set with 'waiting'. */
  readonly waits?: FleetError;
};

/**
 * Renders environments from one snapshot of the sources and delivers each tree. An environment that cannot be loaded or delivered
 * has outcome 'failed' and does not stop the others.
 * @throws FleetError PLATFORM_INVALID and other problems of the platform's root; USAGE if environments share a branch; ABORTED
 */
export const deliverTrees = async (delivery: TreeDelivery): Promise<readonly Delivered[]> => {
  const sources = delivery.sources ?? sourcesOf(delivery);
  const problems = newProblems();
  const root = await findRoot(delivery.platform, sources, problems);
  throwProblems(problems.found, 'the platform');
  const environments = [...new Set(delivery.environments ?? environmentsOf(root))];
  refuseOneBranch(delivery.to, environments);
  const chain = await openTreeChain(delivery, root, sources);
  const delivered: Delivered[] = [];
  for (const environment of environments) {
    delivery.signal.throwIfAborted();
    const one = await deliverOne({ ...delivery, sources }, environment, chain);
    delivered.push(one);
    delivery.onDelivered?.(one);
  }
  return delivered;
};

/** Two environments on one branch would remove each other's folders. */
const refuseOneBranch = (to: TreeTarget, environments: readonly string[]): void => {
  if (to.kind !== 'git' || to.branch === undefined || environments.length < 2) return;
  throw new FleetError('USAGE', `${environments.join(', ')} cannot share the branch ${to.branch}`, {
    hint: 'Give one --environment, or leave #branch out: each then has the branch of its name',
  });
};

const NOTHING = { written: [], removed: [], unchanged: 0, superseded: [] } as const;

/** The chain of the platform, by the audit log in the layout. The layout's own roots verify it, as in publishing. */
const openTreeChain = async (
  { layout, signal }: TreeDelivery,
  root: Root,
  sources: Sources,
): Promise<Chain | undefined> => {
  const opened = layout === undefined ? undefined : await openOrStartLayout(layout);
  const roots = opened && findReference(opened, AUDIT_REFERENCE) ? await readFleetChain(opened) : [];
  const policies = () => loadPolicies(sources, root);
  return await openChain({ root, policies, layout, roots, signal });
};

/** @throws FleetError NOT_PROMOTED while the environment waits; the problems of promotion/ */
const loadPlace = async (
  delivery: TreeDelivery & { readonly sources: Sources },
  environment: string,
  chain: Chain | undefined,
): Promise<Platform> => {
  const options = { ...delivery, environment, holdWorkloads: true };
  const place = await chain?.placeOf(environment, undefined);
  switch (place?.kind) {
    case undefined:
    case 'newest':
      return await loadPlatform(options);
    case 'invalid':
      return throwFirst(place.problems);
    case 'waiting':
      throw place.why;
    case 'promoted': {
      const { candidate } = place;
      const sources = lockedSources(delivery.sources, candidate, environment);
      const platform = await loadPlatform({ ...options, sources });
      try {
        checkSources(candidate, platform.sources.map(toCandidateSource), environment, false);
      } catch (error) {
        throw isFleetError(error, 'CANDIDATE_MISMATCH') ? cannotBuildPromoted(environment, error) : error;
      }
      return platform;
    }
  }
};

const throwFirst = (problems: readonly FleetError[]): never => {
  throwProblems(problems, 'the folder promotion/');
  throw new FleetError('INTERNAL', 'no problem was reported');
};

const deliverOne = async (
  delivery: TreeDelivery & { readonly sources: Sources },
  environment: string,
  chain: Chain | undefined,
): Promise<Delivered> => {
  const known = { held: [], heldWorkloads: [], advice: [] };
  try {
    const platform = await loadPlace(delivery, environment, chain);
    const rendered = renderEnvironment(platform);
    const told = {
      held: rendered.result.held,
      heldWorkloads: platform.heldWorkloads ?? [],
      advice: rendered.schedule.advice,
    };
    const brought = await bring(delivery, rendered);
    const removedPackages = packagesIn(brought.removed, rendered.tree);
    return { environment, ...told, problems: [], ...brought, removedPackages };
  } catch (error) {
    const problem = toFleetError(error, `delivering ${environment}`);
    if (problem.code === 'INTERNAL' || problem.code === 'ABORTED') throw problem;
    if (problem.code === 'NOT_PROMOTED') {
      const waiting = { to: undefined, outcome: 'waiting' as const, problems: [], waits: problem };
      return { environment, ...NOTHING, removedPackages: [], ...known, ...waiting };
    }
    const failed = { to: undefined, outcome: 'failed' as const, problems: problemsOf(problem) };
    return { environment, ...NOTHING, removedPackages: [], ...known, ...failed };
  }
};

/** '<cluster type>/<target>' of the removed files whose folder is not in the new tree. */
const packagesIn = (removed: readonly string[], tree: RenderedEnvironment['tree']): readonly string[] => {
  const folderOf = (path: string): readonly string[] => {
    const [clusterType, target, file] = path.split('/');
    return file === undefined ? [] : [`${clusterType}/${target}`];
  };
  const there = new Set([...tree.keys()].flatMap(folderOf));
  return [...new Set(removed.flatMap(folderOf))]
    .filter((folder) => !there.has(folder))
    .toSorted(compareBytes);
};

type Brought = Omit<
  Delivered,
  'environment' | 'removedPackages' | 'held' | 'heldWorkloads' | 'advice' | 'problems'
>;

const bring = async (
  delivery: TreeDelivery,
  { platform, tree, isKept }: RenderedEnvironment,
): Promise<Brought> => {
  const { to, dryRun = false, now, env, signal } = delivery;
  const { environment } = platform;
  if (to.kind === 'directory') {
    const { directory } = to;
    const done = await deliverDirectory({ directory, environment, tree, isKept, dryRun });
    return { ...NOTHING, to: `${directory}/${environment}`, ...done };
  }
  const { repo, branch } = to.kind === 'gitops' ? gitOpsOf(platform) : to;
  const wanted: BranchDelivery = {
    git: { env: withoutRepository(env), signal },
    cacheDirectory: delivery.cacheDirectory,
    repo,
    branch: branch ?? environment,
    environment,
    tree,
    isKept,
    sources: platform.sources,
    now,
    dryRun,
  };
  const place = { ...NOTHING, to: `${redactUrl(repo)} ${wanted.branch}` };
  if (!delivery.pullRequest) {
    const { outcome, changes, commit } = await deliverBranch(wanted);
    return { ...place, ...pathsOf(changes), outcome, commit };
  }
  const { forge: kind, connection } = delivery;
  // Imported on demand: the HTTP client takes longer to load than everything else.
  const { chooseForge } = await import('../git/forge/choose-forge.ts');
  await using forge = chooseForge(repo, { forge: kind, connection, env, signal });
  const { changes, pullRequest, ...done } = await proposeBranch(wanted, forge);
  return { ...place, ...pathsOf(changes), ...done, pullRequest: pullRequest?.url };
};

const pathsOf = ({ written, removed, unchanged }: Changes) => {
  const shown = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');
  return { written: written.map(({ path }) => shown(path)), removed: removed.map(shown), unchanged };
};

const gitOpsOf = ({
  gitOps,
  environment,
  form,
}: Platform): { readonly repo: string; readonly branch: string } => {
  if (gitOps) return gitOps;
  throw new FleetError('REFERENCE_MISSING', `environment ${environment} names no GitOpsRepo`, {
    subject: environment,
    hint:
      form === 'fleet'
        ? 'Give --to git+<URL>: the branch is the environment, or write #<branch>'
        : 'Give --to git+<URL>, or add a GitOpsRepo with a branch to the environment',
  });
};
