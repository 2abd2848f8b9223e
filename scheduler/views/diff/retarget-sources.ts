import { realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { defaultBranch } from '../../load/sources/git-repository.ts';
import { type Location, parsePlatform, type Revision, refName } from '../../model/location.ts';
import { cleanPath, type Sources } from '../../load/sources/open-sources.ts';
import { repositoryKey } from '../../model/repository-url.ts';
import { type Git, runGit } from '../../load/sources/run-git.ts';

/** One side of a comparison. */
export type Side = {
  /** `--platform`. */
  readonly platform: string;
  /** Branch, tag or commit that is read instead of `branch`; undefined: sources are read as they are. */
  readonly ref: string | undefined;
  /** The branch of the platform's repository that `ref` replaces; undefined: the branch that the platform is read from. */
  readonly branch: string | undefined;
};

export type RetargetedSources = Sources & {
  /** Number of reads at another ref than the platform names. */
  readonly hits: () => number;
  /** True if the platform is a repository, or a directory in one. */
  readonly isWorkTree: () => Promise<boolean>;
};

type WorkTree = { readonly top: string; readonly gitDirectory: string; readonly branch: string | undefined };

/**
 * The sources of a platform with one branch of its repository at another ref. For a Git URL: all references to the branch,
 * pinned commits included. For directories: those whose repository has the branch checked out, or, for HEAD and its ancestors,
 * each at its own HEAD.
 */
export const retargetSources = (sources: Sources, git: Git, side: Side): RetargetedSources => {
  const { location: platform } = parsePlatform(side.platform);
  const mapped = new Map<string, string>();
  const trees = new Map<string, Promise<WorkTree | undefined>>();
  /** Commits of `ref`, by the top of a work tree. */
  const commits = new Map<string, Promise<string | undefined>>();
  let hits = 0;
  const workTree = (directory: string): Promise<WorkTree | undefined> => {
    const known = trees.get(directory) ?? findWorkTree(git, directory);
    trees.set(directory, known);
    return known;
  };
  let defaultName: Promise<string | undefined> | undefined;
  const isNamed = async ({ repo, revision }: Location & { kind: 'git' }): Promise<boolean> => {
    if (platform.kind !== 'git' || repositoryKey(repo) !== repositoryKey(platform.repo)) return false;
    const nameOf = async (one: Revision): Promise<string | undefined> =>
      one.kind === 'head' ? await (defaultName ??= defaultBranch(git, repo)) : refName(one);
    return (await nameOf(revision)) === (side.branch ?? (await nameOf(platform.revision)));
  };
  const isOurs = async (directory: string, tree: WorkTree): Promise<boolean> => {
    if (isOwnHead(side.ref ?? '')) return true;
    const name = mapped.get(resolve(directory)) ?? tree.branch;
    if (side.branch !== undefined) return name === side.branch;
    return platform.kind === 'directory' && tree.top === (await workTree(platform.directory))?.top;
  };
  return {
    ...defined({ remarks: sources.remarks }),
    hits: () => hits,
    isWorkTree: async () =>
      platform.kind !== 'directory' || (await workTree(platform.directory)) !== undefined,
    locate: (repo, revision) => {
      const location = sources.locate(repo, revision);
      const name = refName(revision);
      if (location.kind === 'directory' && name !== undefined) mapped.set(resolve(location.directory), name);
      return location;
    },
    read: async (request) => {
      const { location } = request;
      const { ref } = side;
      if (ref === undefined) return await sources.read(request);
      if (location.kind === 'git') {
        if (!(await isNamed(location))) return await sources.read(request);
        hits += 1;
        const revision: Revision = ref === 'HEAD' ? { kind: 'head' } : { kind: 'any', name: ref };
        return await sources.read({ ...request, location: { ...location, revision } });
      }
      const tree = await workTree(location.directory);
      if (!tree || !(await isOurs(location.directory, tree))) return await sources.read(request);
      hits += 1;
      const found = commits.get(tree.top) ?? findCommit(git, tree.top, ref);
      commits.set(tree.top, found);
      const commit = await found;
      if (commit === undefined) throw refMissing(location.directory, ref);
      const below = relative(tree.top, await realpath(location.directory));
      return await sources.read({
        ...request,
        location: {
          kind: 'git',
          repo: pathToFileURL(tree.gitDirectory).href,
          revision: { kind: 'commit', commit, branch: ref },
        },
        path: join(cleanPath(below), cleanPath(request.path)),
      });
    },
  };
};

/** HEAD, HEAD~2, @: of each repository its own. */
const isOwnHead = (ref: string): boolean => /^(?:HEAD|@)(?:$|[~^])/.test(ref);

const findWorkTree = async (git: Git, directory: string): Promise<WorkTree | undefined> => {
  const at = ['-C', directory, 'rev-parse'];
  const places = ['--path-format=absolute', '--show-toplevel', '--git-common-dir'];
  const found = await runGit(git, [...at, ...places, '--abbrev-ref', 'HEAD']);
  const [top, gitDirectory, head] = found.out.split('\n');
  if (!top || !gitDirectory) return undefined;
  // A repository without a commit fails at HEAD, after the two paths.
  const isBranch = found.code === 0 && head && head !== 'HEAD';
  return { top, gitDirectory, branch: isBranch ? head : undefined };
};

/** @returns undefined if the repository has no such ref */
const findCommit = async (git: Git, top: string, ref: string): Promise<string | undefined> => {
  const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const found = await runGit(git, ['-C', top, ...words]);
  return found.code === 0 ? found.out.trim() : undefined;
};

const refMissing = (directory: string, ref: string): FleetError =>
  new FleetError('SOURCE_MISSING', `${directory} has no ${JSON.stringify(ref)}`, {
    subject: directory,
    hint: 'Name a branch, a tag or a commit of the repository that the directory is in',
  });
