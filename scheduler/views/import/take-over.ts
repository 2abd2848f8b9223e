import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { fillFolder } from '../../load/init/fill-folder.ts';
import { withKustomizations } from '../../load/kalypso/kustomized-sources.ts';
import { type KalypsoParts, readKalypsoParts } from '../../load/kalypso/load-kalypso.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { readRoot, loadPlatform, sourcesOf } from '../../load/load-platform.ts';
import {
  collectProblems,
  uniqueProblems,
  createProblems,
  throwProblems,
  toProblem,
} from '../../model/problems.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { type RenderedEnvironment, renderEnvironment } from '../../render/render-environment.ts';
import type { RenderResult } from '../../render/render-platform.ts';
import type { Tree } from '../../render/render-tree.ts';
import { compareTrees, type TreeComparison } from './compare-trees.ts';
import { compareValues, type ValueDifference } from './compare-values.ts';
import { planTakeover } from './plan-takeover.ts';
import { repositoryGrants } from './repository-grants.ts';
import { workloadGrants } from './workload-grants.ts';

export type TakeoverOptions = PlatformOptions & {
  readonly fleet: string;
  /** The promotion chain, first environment first; default: all environments by name. */
  readonly environments?: readonly string[] | undefined;
  /** New or empty folder for the platform in our form; undefined: nothing is written. */
  readonly to?: string | undefined;
  readonly signal: AbortSignal;
};

/** Comparison of the GitOps repository with the trees rendered from the control plane now. */
export type Published =
  | {
      readonly state: 'compared';
      readonly repo: string;
      readonly branch: string;
      readonly files: TreeComparison;
    }
  | { readonly state: 'unread'; readonly error: FleetError }
  | { readonly state: 'none' };

export type EnvironmentTakeover = {
  readonly environment: string;
  readonly assignments: number;
  readonly held: RenderResult['held'];
  readonly advice: readonly FleetError[];
  readonly published: Published;
  /** Comparison of the trees rendered from the control plane with those rendered from the converted platform. */
  readonly taken?: Taken;
};

type Taken = {
  readonly files: TreeComparison;
  readonly values: readonly ValueDifference[];
  readonly held: RenderResult['held'];
};

/** An environment that cannot be read, with its error. */
export type BrokenEnvironment = { readonly environment: string; readonly errors: readonly FleetError[] };

export type TakeoverReport = {
  readonly environments: readonly EnvironmentTakeover[];
  /** If there is one, nothing is written: the platform would lack an environment of the chain. */
  readonly broken: readonly BrokenEnvironment[];
  readonly notes: readonly FleetError[];
  readonly written: readonly string[];
};

/**
 * Converts a set of Kalypso repositories: renders every environment as Kalypso does, compares the result with the published
 * trees, and, with `to`, writes the platform in our form and compares its rendered trees, too. An environment that cannot be
 * read does not stop the comparison of the others.
 * @throws FleetError as `loadPlatform` where no environment can be read; USAGE if the platform is not a Kalypso control plane,
 *   or the target is not empty
 */
export const takeOver = async (options: TakeoverOptions): Promise<TakeoverReport> => {
  const sources = options.sources ?? sourcesOf(options);
  const root = await readRoot(options.platform, sources, 'the control plane');
  if (root.form === 'fleet')
    throw new FleetError('USAGE', `${options.platform} is a platform of our form already`, {
      at: root.fleet.at,
    });
  const names =
    options.environments ?? root.kalypso.environments.map(({ name }) => name).toSorted(compareBytes);
  const read = { ...options, sources };
  const before: (RenderedEnvironment & { readonly parts: KalypsoParts; readonly published: Published })[] =
    [];
  const broken: BrokenEnvironment[] = [];
  for (const environment of names) {
    const own = createProblems();
    const parts = await readKalypsoParts(environment, withKustomizations(sources), root.kalypso, own);
    const side =
      parts && own.found.length === 0
        ? await collectProblems(own, async () =>
            renderEnvironment(await loadPlatform({ ...read, environment, holdWorkloads: true })),
          )
        : undefined;
    if (parts && side) before.push({ ...side, parts, published: await comparePublished(sources, side) });
    else broken.push({ environment, errors: uniqueProblems(own.found) });
  }
  if (before.length === 0)
    throwProblems(uniqueProblems(broken.flatMap(({ errors }) => errors)), 'the control plane');
  const to = broken.length === 0 ? options.to : undefined;
  const platforms = before.map(({ platform }) => platform);
  const plan = planTakeover(
    options.fleet,
    before.map(({ parts }) => parts),
    { workspaces: repositoryGrants(platforms), workloads: workloadGrants(platforms) },
  );
  const written = await writePlan({ ...options, to }, plan.files);
  const environments: EnvironmentTakeover[] = [];
  for (const one of before) {
    environments.push(
      defined({
        environment: one.platform.environment,
        assignments: one.result.packages.length,
        held: one.result.held,
        advice: one.schedule.advice,
        published: one.published,
        taken: to !== undefined ? await compareTaken(options, to, one) : undefined,
      }),
    );
  }
  return { environments, broken, notes: to === undefined ? [] : plan.notes, written };
};

const writePlan = async (
  { to, signal }: TakeoverOptions,
  files: ReadonlyMap<string, string>,
): Promise<readonly string[]> => {
  if (to === undefined) return [];
  await fillFolder(
    to,
    [...files].map(([path, text]) => ({ path, text, mode: 0o644 })),
    signal,
  );
  return [...files.keys()];
};

const compareTaken = async (
  options: TakeoverOptions,
  to: string,
  before: RenderedEnvironment,
): Promise<Taken> => {
  const { environment } = before.platform;
  const { sources: _, fleet: __, ...rest } = options;
  const after = renderEnvironment(
    await loadPlatform({ ...rest, platform: to, environment, holdWorkloads: true }),
  );
  return {
    files: compareTrees(withoutTracking(before), withoutTracking(after)),
    values: compareValues(before, after),
    held: after.result.held,
  };
};

/** In our form the candidate records the promoted commit, which writes no empty files either. */
const withoutTracking = ({ tree }: RenderedEnvironment): Tree =>
  new Map([...tree].filter(([path, bytes]) => !path.startsWith('.github/') && bytes.length > 0));

const comparePublished = async (
  sources: Sources,
  { platform, tree }: RenderedEnvironment,
): Promise<Published> => {
  const { gitOps } = platform;
  if (!gitOps) return { state: 'none' };
  const { repo, branch } = gitOps;
  try {
    const source = await sources.read({
      role: `gitops/${platform.environment}`,
      location: sources.locate(repo, { kind: 'branch', name: branch }),
      path: '.',
      which: 'all',
      ignore: 'none',
    });
    const files = new Map(
      source.files.filter(({ path }) => isManagedPath(path)).map(({ path, bytes }) => [path, bytes]),
    );
    return { state: 'compared', repo, branch, files: compareTrees(files, tree) };
  } catch (error) {
    return { state: 'unread', error: toProblem(error, `reading ${repo}`) };
  }
};

/** The tracking file and folders of cluster types; other files of the repository are not ours. */
const isManagedPath = (path: string): boolean =>
  path.startsWith('.github/tracking/') || /^[^.][^/]*\//.test(path);
