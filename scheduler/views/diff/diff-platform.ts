import { FleetError } from '#bundles/errors';
import { listEnvironments } from '../../load/list-environments.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { loadPlatform, sourcesOf } from '../../load/load-platform.ts';
import { parsePlatform } from '../../model/location.ts';
import { toProblem } from '../../model/problems.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import type { EnvironmentDiff } from './compare-environments.ts';
import { compareViews, type Viewed, viewOrProblems } from './compare-views.ts';
import { type RetargetedSources, retargetSources, type Side } from './retarget-sources.ts';
import { viewEnvironment } from './view-environment.ts';

export type DiffOptions = PlatformOptions & {
  /** Branch, tag or commit of the platform's repository; undefined: the ref that the platform names, for a directory its HEAD. */
  readonly from?: string | undefined;
  /** Undefined: the ref that the platform names; for a directory its files in the working tree. */
  readonly to?: string | undefined;
  /** The branch that both refs replace, if it is not `from` itself. */
  readonly branch?: string | undefined;
  /** Default: all environments of both sides. */
  readonly environments?: readonly string[];
  readonly fleet?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

/**
 * Compares two states of a platform, environment by environment. Errors of an unreadable environment are part of the result and
 * do not stop the others.
 * @throws FleetError USAGE if both states are the same by definition; PLATFORM_INVALID, SOURCE_MISSING
 */
export const diffPlatform = async (options: DiffOptions): Promise<readonly EnvironmentDiff[]> => {
  const { location } = parsePlatform(options.platform);
  const from = options.from ?? (location.kind === 'directory' ? 'HEAD' : undefined);
  if (from === options.to) throw nothingToCompare(options.to);
  const base = sourcesOf(options);
  const git = { env: withoutRepository(options.env), signal: options.signal };
  const sideOf = (ref: string | undefined, branch: string | undefined): RetargetedSources =>
    retargetSources(base, git, { platform: options.platform, ref, branch } satisfies Side);
  const named = options.branch ?? (from === 'HEAD' ? undefined : from);
  const first = sideOf(from, named);
  const known = await environmentsOn(options, first);
  // No source is read at a branch of that name, so that both refs replace the ref of the platform itself.
  const branch =
    from !== undefined && options.branch === undefined && !(await isRead(options, first, known))
      ? undefined
      : named;
  const [before, after] = [branch === named ? first : sideOf(from, branch), sideOf(options.to, branch)];
  const environments = await chooseEnvironments(options, before, after);
  const diffs: EnvironmentDiff[] = [];
  for (const name of environments.all) {
    options.signal.throwIfAborted();
    const left = environments.before.includes(name) ? await viewSide(options, before, name) : undefined;
    const right = environments.after.includes(name) ? await viewSide(options, after, name) : undefined;
    diffs.push(compareViews(name, left, right));
  }
  if (before.hits() + after.hits() === 0)
    throw (await before.isWorkTree()) ? notFound(options) : notVersioned(options);
  return diffs;
};

const environmentsOn = async (
  options: DiffOptions,
  sources: RetargetedSources,
): Promise<readonly string[]> => {
  try {
    return await listEnvironments({ ...options, sources });
  } catch (error) {
    toProblem(error);
    return [];
  }
};

/** True if one of the environments reads this branch. */
const isRead = async (
  options: DiffOptions,
  sources: RetargetedSources,
  known: readonly string[],
): Promise<boolean> => {
  for (const environment of options.environments ?? known) {
    if (sources.hits() > 0) return true;
    await viewSide(options, sources, environment, 'load');
  }
  return sources.hits() > 0;
};

const chooseEnvironments = async (
  options: DiffOptions,
  sourcesBefore: RetargetedSources,
  sourcesAfter: RetargetedSources,
) => {
  const before = await listEnvironments({ ...options, sources: sourcesBefore });
  const after = await listEnvironments({ ...options, sources: sourcesAfter });
  const known = new Set([...after, ...before]);
  const all = [...new Set(options.environments ?? known)];
  const unknown = all.find((name) => !known.has(name));
  if (unknown === undefined) return { before, after, all };
  throw new FleetError('PLATFORM_INVALID', `the platform has no environment ${JSON.stringify(unknown)}`, {
    hint: `It has ${[...known].join(', ')}`,
  });
};

const viewSide = (
  options: DiffOptions,
  sources: RetargetedSources,
  environment: string,
  depth: 'load' | 'view' = 'view',
): Promise<Viewed> =>
  viewOrProblems(environment, async () => {
    const platform = await loadPlatform({ ...options, sources, environment, holdWorkloads: true });
    return depth === 'load' ? undefined : await viewEnvironment(platform, sources, options);
  });

const nothingToCompare = (ref: string | undefined): FleetError =>
  new FleetError(
    'USAGE',
    `there are no two states to compare${ref === undefined ? '' : `: both are ${ref}`}`,
    {
      hint: 'Give --from and --to, like --from main --to feature',
    },
  );

const notVersioned = ({ platform }: DiffOptions): FleetError =>
  new FleetError('USAGE', `${platform} is in no Git repository, so there is no state to compare it with`, {
    subject: platform,
    hint: 'Commit it to one first, or name a repository with --platform',
  });

const notFound = ({ platform, branch, from }: DiffOptions): FleetError =>
  new FleetError('USAGE', `nothing of the platform is read from ${branch ?? from ?? platform}`, {
    subject: platform,
    hint: 'Say with --branch which branch of the platform’s repository the two refs stand for',
  });
