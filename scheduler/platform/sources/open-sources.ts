import { isAbsolute, join, normalize, sep } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import type { SourceSnapshot } from '../model.ts';
import { checkOut, type GitRepository, openRepository, resolveRevision } from './git-repository.ts';
import { type Location, locate, type Revision, refName, type SourceMap } from './location.ts';
import { readFiles, type SourceFile } from './read-files.ts';
import { redactUrl, repositoryKey } from './repository-url.ts';
import { withoutRepository } from './run-git.ts';
import { treeDigest } from './tree-digest.ts';

/** One repository or directory, read: its YAML files and the snapshot that names them. */
export type Source = {
  readonly snapshot: SourceSnapshot;
  readonly files: readonly SourceFile[];
  readonly location: Location;
  /** Put before a file's path where messages name it. */
  readonly prefix: string;
};

export type SourceRequest = {
  /** 'platform', 'base/main', 'workload/greeting' ... */
  readonly role: string;
  readonly location: Location;
  readonly path: string;
  /** 'none' reads what .sourceignore hides. */
  readonly ignore?: 'honour' | 'none';
  /** Only YAML files by default: that is what platforms are made of. */
  readonly which?: 'yaml' | 'all';
  /** Which of the files, by path relative to `path`. All by default. */
  readonly wanted?: (path: string) => boolean;
};

/** A run's view of all repositories: each is asked for its refs once, so all that is read stands in one snapshot. */
export type Sources = {
  /** The directory of a --map, or the repository. */
  readonly locate: (repo: string, revision: Revision) => Location;
  /** @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING */
  readonly read: (request: SourceRequest) => Promise<Source>;
};

export type SourceOptions = {
  readonly maps: readonly SourceMap[];
  /** Where repositories are kept between runs. */
  readonly cacheDirectory: string;
  /** What git runs with. The process's own environment belongs here. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
};

export const openSources = (options: SourceOptions): Sources => {
  const git = { env: withoutRepository(options.env), signal: options.signal };
  const repositories = new Map<string, Promise<GitRepository>>();
  const open = (repo: string): Promise<GitRepository> => {
    const key = repositoryKey(repo);
    const opened = repositories.get(key) ?? openRepository(git, repo, options.cacheDirectory);
    repositories.set(key, opened);
    return opened;
  };
  // One repository's cache is written by one step at a time.
  const queues = new Map<string, Promise<unknown>>();
  const directoryOf = async (
    location: Location,
    path: string,
  ): Promise<{ root: string; commit?: string }> => {
    if (location.kind === 'directory') return { root: location.directory };
    const repository = await open(location.repo);
    const commit = resolveRevision(repository, location.revision);
    const key = repositoryKey(location.repo);
    const turn = (queues.get(key) ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => checkOut(git, repository, commit, path));
    queues.set(key, turn);
    return { root: await turn, commit };
  };
  return {
    locate: (repo, revision) => locate(options.maps, repo, revision),
    read: async (request) => {
      if (options.signal?.aborted) throw new FleetError('ABORTED', 'reading the platform was stopped');
      const path = cleanPath(request.path);
      const { root, commit } = await directoryOf(request.location, path);
      const shown = showLocation(request.location);
      try {
        const files = await readFiles(root, path, request.which ?? 'yaml', request.ignore ?? 'honour', shown);
        const { wanted } = request;
        return toSource(
          request,
          path,
          root,
          commit,
          wanted ? files.filter((file) => wanted(file.path)) : files,
        );
      } catch (error) {
        throw toFleetError(error, `reading ${shown}`);
      }
    },
  };
};

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
    snapshot: {
      role,
      repo: location.kind === 'git' ? redactUrl(location.repo) : location.directory,
      ...(ref !== undefined && { ref }),
      path,
      ...(commit !== undefined && { commit }),
      tree: treeDigest(files),
      directory: path === '.' ? root : join(root, path),
    },
    files,
    location,
    prefix:
      location.kind === 'git'
        ? `${role.replaceAll('/', '-')}/`
        : `${location.shown.replace(/\/+$/, '')}/${inDirectory}`,
  };
};

const showLocation = (location: Location): string =>
  location.kind === 'git' ? redactUrl(location.repo) : location.shown;

/**
 * './workloads/' and 'workloads' are one path; nothing outside the repository can be named.
 * @throws FleetError FIELD_INVALID
 */
export const cleanPath = (path: string): string => {
  const clean = normalize(path === '' ? '.' : path.replace(/^\/+/, './')).replace(/\/+$/, '') || '.';
  if (clean === '..' || clean.startsWith(`..${sep}`) || isAbsolute(clean) || clean.includes('\0'))
    throw new FleetError('FIELD_INVALID', `the path ${JSON.stringify(path)} leads out of its repository`);
  return clean;
};
