import { posix } from 'node:path';
import { FleetError, isFleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import type { KalypsoRoot } from '../../load/kalypso/find-environments.ts';
import { loadPlatform } from '../../load/load-platform.ts';
import { type ObjectOf, ofKind } from '../../load/objects/platform-object.ts';
import { readObjects } from '../../load/objects/read-objects.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import type { Source, Sources } from '../../load/sources/open-sources.ts';
import { createProblems, throwProblems } from '../../model/problems.ts';
import { refName } from '../../model/location.ts';
import { TRACKING_FILE } from '../../render/render-tree.ts';
import { baseRepoFile, pinCommit } from './pin-commit.ts';

/** One BaseRepo whose commit is promoted. */
export type PromotedRepo = {
  readonly name: string;
  readonly repo: string;
  readonly branch: string;
  readonly path: string;
  /** The commit that the environment has now; undefined: it follows the branch, or has no such BaseRepo. */
  readonly before: string | undefined;
  readonly commit: string;
};

/** A file of the control plane's branch to write. */
export type EditedFile = {
  /** In the repository. */
  readonly path: string;
  /** Undefined: the file is new. */
  readonly was: Buffer | undefined;
  readonly bytes: Buffer;
};

export type BasePromotion = {
  readonly from: string | undefined;
  readonly to: string;
  /** The environment's branch in the control plane. */
  readonly repo: string;
  readonly branch: string;
  readonly promoted: readonly PromotedRepo[];
  readonly files: readonly EditedFile[];
};

/** The commit to promote: the one that another environment is pinned to, or one of the base's branch. */
export type BasePromotionRequest = { readonly to: string } & (
  | { readonly from: string; readonly commit?: undefined }
  | { readonly from?: undefined; readonly commit: string }
);

/**
 * Plans the promotion of a control plane in Kalypso's form: the commit of the BaseRepos is written to the branch of an
 * environment. The environment is loaded with that commit, so that a commit with mistakes is not promoted.
 * @throws FleetError USAGE; NOT_PROMOTED if `from` is not pinned; GATE_CLOSED if `from` delivers another commit; the problems
 *   of the environment with the promoted commit
 */
export const planBasePromotion = async (
  options: PlatformOptions & { readonly sources: Sources },
  root: KalypsoRoot,
  promotion: BasePromotionRequest,
): Promise<BasePromotion> => {
  const { sources } = options;
  const to = await readBranch(sources, root, promotion.to);
  const { branch } = to;
  if (to.source.location.kind === 'directory' || branch === undefined)
    throw new FleetError(
      'USAGE',
      `the branch of ${promotion.to} is ${to.source.prefix || 'no branch of a repository'}`,
      {
        subject: promotion.to,
        hint: 'A promotion is a commit on a branch: read the control plane from its repository, without --map',
      },
    );
  const wanted =
    promotion.from === undefined
      ? chooseBase(to, promotion.commit)
      : await pinnedIn(sources, root, promotion.from);
  const promoted = wanted.map(({ base, commit }): PromotedRepo => {
    const there = to.bases.find(({ name }) => name === base.name);
    if (there && (there.folder.repo !== base.folder.repo || branchOf(there) !== branchOf(base)))
      throw new FleetError(
        'FIELD_INVALID',
        `BaseRepo ${base.name} of ${promotion.to} is of another repository or branch`,
        {
          at: there.at,
          hint: 'Environments of a chain have the same BaseRepo and differ in its commit',
        },
      );
    const { repo, path } = base.folder;
    return { name: base.name, repo, branch: branchOf(base), path, before: there?.commit, commit };
  });
  await checkLoads(options, to, promotion.to, promoted);
  const path = to.environment.controlPlane.path;
  const files = editFiles(to, path, promoted);
  return {
    from: promotion.from,
    to: promotion.to,
    repo: to.environment.controlPlane.repo,
    branch,
    promoted,
    files,
  };
};

type BranchState = {
  readonly environment: ObjectOf<'Environment'>;
  readonly branch: string | undefined;
  readonly source: Source;
  readonly bases: readonly ObjectOf<'BaseRepo'>[];
  readonly gitOps: ObjectOf<'GitOpsRepo'> | undefined;
};

const readBranch = async (sources: Sources, root: KalypsoRoot, name: string): Promise<BranchState> => {
  const environment = root.environments.find((one) => one.name === name);
  if (!environment) {
    const names = root.environments.map((one) => one.name).toSorted();
    throw new FleetError('USAGE', `the control plane has no environment ${name}`, {
      hint: `${didYouMean(name, names) ?? ''}It has ${names.join(', ')}`,
    });
  }
  const { repo, revision, path } = environment.controlPlane;
  const source = await sources.read({
    role: `environment/${name}`,
    location: sources.locate(repo, revision),
    path,
  });
  const problems = createProblems();
  const objects = readObjects(source, problems.found);
  throwProblems(problems.found, `the branch of ${name}`);
  const bases = ofKind(objects, 'BaseRepo');
  const branch = revision.kind === 'branch' ? revision.name : undefined;
  return { environment, branch, source, bases, gitOps: ofKind(objects, 'GitOpsRepo')[0] };
};

type Wanted = { readonly base: ObjectOf<'BaseRepo'>; readonly commit: string };

/** The name that Kalypso writes into Promoted_Commit_Id. */
const MAIN = 'main';

const chooseBase = ({ bases, environment }: BranchState, commit: string): readonly Wanted[] => {
  const base = bases.find(({ name }) => name === MAIN) ?? (bases.length === 1 ? bases[0] : undefined);
  if (base) return [{ base, commit }];
  throw new FleetError(
    'REFERENCE_MISSING',
    `${environment.name} has no BaseRepo ${MAIN} to write the commit to`,
    {
      subject: environment.name,
      hint: 'Add a BaseRepo to its branch, or promote with --from',
    },
  );
};

/** The commit that an environment is pinned to. */
const pinnedIn = async (sources: Sources, root: KalypsoRoot, from: string): Promise<readonly Wanted[]> => {
  const state = await readBranch(sources, root, from);
  const wanted = state.bases.flatMap((base) => (base.commit ? [{ base, commit: base.commit }] : []));
  if (wanted.length === 0)
    throw new FleetError('NOT_PROMOTED', `no BaseRepo of ${from} has a commit: it follows a branch`, {
      subject: from,
      hint: `Promote a commit to it first: fleet-scheduler promote ${from} --commit <id>`,
    });
  const main = wanted.find(({ base }) => base.name === MAIN);
  const delivered = main && state.gitOps && (await readTracking(sources, state.gitOps));
  if (main && delivered !== undefined && delivered !== main.commit)
    throw new FleetError(
      'GATE_CLOSED',
      `${from} is pinned to ${main.commit.slice(0, 12)} and delivers ${delivered.slice(0, 12) || 'no commit'}`,
      {
        subject: from,
        hint: `Merge the pull request with its manifests first: ${state.gitOps?.folder.repo}`,
      },
    );
  return wanted;
};

/** The commit that a GitOps branch was made from; undefined if it does not say. */
const readTracking = async (
  sources: Sources,
  { folder }: ObjectOf<'GitOpsRepo'>,
): Promise<string | undefined> => {
  try {
    const location = sources.locate(folder.repo, folder.revision);
    const read = await sources.read({
      role: 'published',
      location,
      path: posix.dirname(TRACKING_FILE),
      which: 'all',
      ignore: 'none',
    });
    return read.files
      .find((file) => file.path === posix.basename(TRACKING_FILE))
      ?.bytes.toString('utf8')
      .trim();
  } catch (error) {
    if (isFleetError(error, 'SOURCE_MISSING')) return undefined;
    throw error;
  }
};

const branchOf = ({ folder: { revision } }: ObjectOf<'BaseRepo'>): string =>
  (revision.kind === 'commit' ? revision.branch : refName(revision)) ?? '';

/** @throws FleetError the problems of the environment with the promoted commits */
const checkLoads = async (
  options: Parameters<typeof planBasePromotion>[0],
  to: BranchState,
  environment: string,
  promoted: readonly PromotedRepo[],
): Promise<void> => {
  if (promoted.some(({ name }) => !to.bases.some((base) => base.name === name))) return;
  const { sources } = options;
  const read: Sources['read'] = (request) => {
    const one = promoted.find(({ name }) => request.role === `base/${name}`);
    if (!one) return sources.read(request);
    const { repo, commit, branch } = one;
    const location = sources.locate(repo, { kind: 'commit', commit, branch });
    return sources.read({ ...request, location });
  };
  await loadPlatform({
    ...options,
    environment,
    sources: { ...sources, read },
    holdWorkloads: true,
  });
};

const editFiles = (
  { bases, source }: BranchState,
  folder: string,
  promoted: readonly PromotedRepo[],
): readonly EditedFile[] => {
  const inRepository = (path: string): string =>
    [folder.replace(/^\.?\/*|\/+$/g, ''), path].filter(Boolean).join('/');
  const files = new Map<string, { was: Buffer | undefined; text: string }>();
  for (const one of promoted) {
    const { name, commit } = one;
    const base = bases.find((known) => known.name === name);
    const file = base && source.files.find(({ path }) => base.at.file === `${source.prefix}${path}`);
    const path = inRepository(file?.path ?? `base-repo${name === MAIN ? '' : `-${name}`}.yaml`);
    const known = files.get(path)?.text ?? file?.bytes.toString('utf8');
    const text =
      base && known !== undefined ? pinCommit(known, name, commit, base.at) : baseRepoFile(one, commit);
    files.set(path, { was: file?.bytes, text });
  }
  return [...files].map(([path, { was, text }]) => ({ path, was, bytes: Buffer.from(text) }));
};
