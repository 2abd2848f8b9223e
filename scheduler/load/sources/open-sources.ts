import { isAbsolute, join, normalize, sep } from 'node:path';
import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError, formatError, isFleetError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Bound } from '../../model/limits.ts';
import type { SourceSnapshot } from '../../model/model.ts';
import { atMost } from './at-most.ts';
import { batched } from './batched.ts';
import { type CheckedOut, checkOut, type Wanted } from './check-out.ts';
import { type FileMemory, internFiles, turnFileMemory } from './file-memory.ts';
import type { GitRepository } from './git-cache.ts';
import { cachedRepository, openRepository, resolveRevision } from './git-repository.ts';
import { type KnownCommit, recallCommit, rememberCommit } from './known-commits.ts';
import { type Location, locate, type Revision, refName, type SourceMap } from '../../model/location.ts';
import { type CacheEntries, openEntries } from './prune-cache.ts';
import type { ParsedFiles } from './parsed-files.ts';
import { readFiles, type SourceFile } from './read-files.ts';
import { redactUrl, repositoryKey } from '../../model/repository-url.ts';
import { type Git, withoutRedirects, withoutRepository } from './run-git.ts';
import { treeDigest } from './tree-digest.ts';

/** One repository or directory: the files that were read, and the snapshot that identifies them. */
export type Source = {
  readonly snapshot: SourceSnapshot;
  readonly files: readonly SourceFile[];
  readonly location: Location;
  /** Prefix of file paths in messages: a folder, or `<repository>#<ref>:`. */
  readonly prefix: string;
  /** Objects of files that were parsed before. */
  readonly parsed?: ParsedFiles;
};

export type SourceRequest = {
  /** 'platform', 'base/main', 'workload/greeting' ... */
  readonly role: string;
  readonly location: Location;
  readonly path: string;
  /** 'none' also reads files that .sourceignore hides. */
  readonly ignore?: 'honour' | 'none';
  /** YAML files by default, which platforms consist of. */
  readonly which?: 'yaml' | 'all';
  /** Limits for a tenant's files, checked before they are written to disk or read. */
  readonly bound?: Bound | undefined;
  /** Selects files by path relative to `path`; all by default. */
  readonly wanted?: (path: string) => boolean;
};

/** A run's view of all repositories: refs are requested once for each, so that everything comes from one snapshot. */
export type Sources = {
  /** The directory of a --map, or the repository. */
  readonly locate: (repo: string, revision: Revision) => Location;
  /**
   * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, FIELD_INVALID, TOO_LARGE, TOO_MANY, WORKSPACE_LIMIT, BUSY,
   * TOOL_MISSING, DISK_FULL, ABORTED
   */
  readonly read: (request: SourceRequest) => Promise<Source>;
  /** An environment's own layer comes from another state than the rest, and is read separately. */
  readonly apart?: true;
  /** Warnings about what was read so far: skipped submodules and links, a repository that does not respond. */
  readonly remarks?: () => readonly FleetError[];
};

export type SourceOptions = {
  readonly maps: readonly SourceMap[];
  /** Cache of repositories between runs. */
  readonly cacheDirectory: string;
  /** Environment for git, usually that of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /**
   * Read a repository that does not respond in its last known state, and add a warning to `remarks`; with `gone` also a branch
   * that the repository no longer has.
   */
  readonly staleOk?: boolean | 'gone' | undefined;
  /** The files of the previous run. */
  readonly files?: FileMemory | undefined;
  /** Objects of files that were parsed before. */
  readonly parsed?: ParsedFiles | undefined;
};

/** Number of repositories that Git works in at the same time. */
const MAX_REPOSITORIES = 64;

type GitLocation = Location & { readonly kind: 'git' };

export const openSources = (options: SourceOptions): Sources => {
  if (options.files) turnFileMemory(options.files);
  const git = { env: withoutRepository(options.env), signal: options.signal };
  const repositories = new Map<string, Promise<GitRepository>>();
  const withGit = atMost(MAX_REPOSITORIES);
  const gitFor = ({ redirects }: GitLocation) => (redirects === 'refused' ? withoutRedirects(git) : git);
  const open = (location: GitLocation): Promise<GitRepository> => {
    const { repo, redirects = 'followed' } = location;
    const key = `${redirects} ${repositoryKey(repo)}`;
    const opened =
      repositories.get(key) ?? withGit(() => openRepository(gitFor(location), repo, options.cacheDirectory));
    repositories.set(key, opened);
    return opened;
  };
  const remarks = new Map<string, FleetError>();
  const remark = (one: FleetError): void => {
    remarks.set(formatError(one), one);
  };
  const resolve = async (location: GitLocation): Promise<{ repository: GitRepository; commit: string }> => {
    const { repo, revision } = location;
    // A commit does not depend on refs, so no request is needed.
    if (revision.kind === 'commit')
      return { repository: cachedRepository(repo, options.cacheDirectory), commit: revision.commit };
    try {
      const repository = await open(location);
      return { repository, commit: resolveRevision(repository, revision) };
    } catch (error) {
      const isTolerated =
        (options.staleOk && isFleetError(error, 'SOURCE_UNREACHABLE')) ||
        (options.staleOk === 'gone' && isFleetError(error, 'SOURCE_MISSING'));
      if (!isTolerated) throw error;
      const repository = cachedRepository(repo, options.cacheDirectory);
      const known = await recallCommit(repository, revision);
      if (!known) throw error;
      remark(asItWas(error, known));
      return { repository, commit: known.commit };
    }
  };
  const remembered = new Map<string, Promise<void>>();
  /** Once, for all folders of a branch. */
  const remember: typeof rememberCommit = (repository, revision, commit) => {
    const key = `${repository.gitDirectory} ${refName(revision) ?? ''}`;
    const known = remembered.get(key) ?? rememberCommit(repository, revision, commit);
    remembered.set(key, known);
    return known;
  };
  const entries = openEntries(options.cacheDirectory);
  const checkouts = new Map<string, (job: Checkout) => Promise<CheckedOut | FleetError>>();
  const checkoutsOf = (repo: string) => {
    const key = repositoryKey(repo);
    const known =
      checkouts.get(key) ??
      batched((jobs: readonly Checkout[]) => withGit(() => checkOutJobs(jobs, entries)));
    checkouts.set(key, known);
    return known;
  };
  const directoryOf = async (
    location: Location,
    path: string,
    bound: Bound | undefined,
  ): Promise<{ root: string; commit?: string }> => {
    if (location.kind === 'directory') return { root: location.directory };
    const { repository, commit } = await resolve(location);
    const { repo, redirects = 'followed' } = location;
    const job = { git: gitFor(location), redirects, repository, commit, wanted: { path, bound } };
    const taken = await checkoutsOf(repo)(job);
    if (taken instanceof FleetError) throw taken;
    // Only a commit that is in the cache can be a fallback.
    if (repository.refs.size > 0) await remember(repository, location.revision, commit);
    for (const submodule of taken.submodules) remark(skippedSubmodule(submodule, repo));
    return { root: taken.root, commit };
  };
  return {
    locate: (repo, revision) => locate(options.maps, repo, revision),
    read: async (request) => {
      if (options.signal?.aborted) throw new FleetError('ABORTED', 'reading the platform was stopped');
      const path = cleanPath(request.path);
      const { bound } = request;
      const { root, commit } = await directoryOf(request.location, path, bound);
      const shown = showLocation(request.location);
      try {
        const { which = 'yaml', ignore = 'honour' } = request;
        const onLink = (link: string): void => remark(notFollowed(link, request.location));
        const read = await readFiles({ root, path, which, ignore, shown, bound, onLink });
        const key = [request.role, shown, path, which, ignore].join('\0');
        const files = options.files ? internFiles(options.files, key, read) : read;
        const { wanted } = request;
        const source = toSource(
          request,
          path,
          root,
          commit,
          wanted ? files.filter((file) => wanted(file.path)) : files,
        );
        return defined({ ...source, parsed: options.parsed });
      } catch (error) {
        throw toFleetError(error, `reading ${shown}`);
      }
    },
    // Sorted, because repositories respond in any order.
    remarks: () => [...remarks].toSorted(([a], [b]) => compareBytes(a, b)).map(([, one]) => one),
  };
};

/** One folder that a run reads from a repository. */
type Checkout = {
  readonly git: Git;
  readonly redirects: string;
  readonly repository: GitRepository;
  readonly commit: string;
  readonly wanted: Wanted;
};

/** Checks out folders of one repository: those of a commit together. */
const checkOutJobs = async (
  jobs: readonly Checkout[],
  entries: CacheEntries,
): Promise<readonly (CheckedOut | FleetError)[]> => {
  const together = Map.groupBy(jobs, ({ redirects, commit }) => `${redirects} ${commit}`);
  const results = new Map<Checkout, CheckedOut | FleetError>();
  for (const group of together.values()) {
    const [{ git, repository, commit }] = group as [Checkout];
    const taken = await checkOut(
      { git, repository, commit, entries },
      group.map(({ wanted }) => wanted),
    );
    for (const [at, job] of group.entries()) results.set(job, taken[at] as CheckedOut | FleetError);
  }
  return jobs.map((job) => results.get(job) as CheckedOut | FleetError);
};

const skippedSubmodule = (submodule: string, repo: string): FleetError =>
  new FleetError(
    'REFERENCE_MISSING',
    `the submodule ${JSON.stringify(submodule)} of ${redactUrl(repo)} is not read`,
    {
      subject: redactUrl(repo),
      hint: 'Name its repository where the platform names repositories, or commit the files themselves',
    },
  );

const notFollowed = (link: string, location: Location): FleetError =>
  new FleetError('REFERENCE_MISSING', 'this link is not followed, so nothing is read here', {
    at: { file: `${prefixOf(location)}${link}` },
    hint: 'Commit the file or folder itself, or name the link in .sourceignore',
  });

const asItWas = (error: FleetError, { commit, at }: KnownCommit): FleetError =>
  new FleetError(error.code, `${error.message}; it is read as of ${formatTime(at)}`, {
    subject: error.subject,
    hint: `That is commit ${commit.slice(0, 12)}; later commits wait until it answers again`,
    cause: error,
  });

const toSource = (
  request: SourceRequest,
  path: string,
  root: string,
  commit: string | undefined,
  files: readonly SourceFile[],
): Source => {
  const { location, role } = request;
  const ref = location.kind === 'git' ? refName(location.revision) : undefined;
  const inDirectory = path === '.' ? '' : `${path}/`;
  return {
    snapshot: defined({
      role,
      repo: location.kind === 'git' ? redactUrl(location.repo) : location.directory,
      ref,
      path,
      commit,
      tree: treeDigest(files),
      directory: path === '.' ? root : join(root, path),
    }),
    files,
    location,
    prefix: `${prefixOf(location)}${inDirectory}`,
  };
};

/** Precedes a path in messages: the repository with its revision, or the folder. */
const prefixOf = (location: Location): string =>
  location.kind === 'git'
    ? `${redactUrl(location.repo)}#${refName(location.revision) ?? 'HEAD'}:`
    : `${location.shown.replace(/\/+$/, '')}/`;

const showLocation = (location: Location): string =>
  location.kind === 'git' ? redactUrl(location.repo) : location.shown;

/**
 * Normalizes a path: './workloads/' and 'workloads' are equal. It cannot lead out of the repository.
 * @throws FleetError FIELD_INVALID
 */
export const cleanPath = (path: string): string => {
  const clean = normalize(path === '' ? '.' : path.replace(/^\/+/, './')).replace(/\/+$/, '') || '.';
  if (clean === '..' || clean.startsWith(`..${sep}`) || isAbsolute(clean) || clean.includes('\0'))
    throw new FleetError('FIELD_INVALID', `the path ${JSON.stringify(path)} leads out of its repository`);
  return clean;
};
