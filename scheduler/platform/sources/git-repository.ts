import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { checkRef, isCommit, type Revision } from './location.ts';
import { redactUrl, repositoryKey } from './repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from './run-git.ts';

/** A repository's refs at one instant, and the bare cache its objects come into. */
export type GitRepository = {
  readonly url: string;
  readonly refs: ReadonlyMap<string, string>;
  /** The bare repository in the cache. */
  readonly gitDirectory: string;
  readonly cacheDirectory: string;
};

/**
 * Reads all refs with one request, so that every branch used in a run is of the same moment.
 * @throws FleetError SOURCE_UNREACHABLE
 */
export const openRepository = async (
  git: Git,
  url: string,
  cacheDirectory: string,
): Promise<GitRepository> => {
  const listed = await runGit(withRemote(git, url), ['ls-remote', '--quiet', REMOTE]);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  const refs = new Map<string, string>();
  for (const line of listed.out.split('\n')) {
    const [commit, name] = line.split('\t');
    if (commit && name) refs.set(name, commit);
  }
  const key = createHash('sha256').update(repositoryKey(url)).digest('hex').slice(0, 32);
  return { url, refs, gitDirectory: join(cacheDirectory, `${key}.git`), cacheDirectory };
};

/** @throws FleetError SOURCE_MISSING when the branch or tag is not there */
export const resolveRevision = (repository: GitRepository, revision: Revision): string => {
  const { refs, url } = repository;
  switch (revision.kind) {
    case 'head': {
      const commit = refs.get('HEAD');
      if (commit !== undefined) return commit;
      throw new FleetError('SOURCE_MISSING', `${redactUrl(url)} has no default branch`, {
        subject: redactUrl(url),
        hint: 'Name one with #branch',
      });
    }
    case 'branch':
    case 'any': {
      const name = checkRef(revision.name, 'FIELD_INVALID');
      const branch = refs.get(`refs/heads/${name}`);
      if (branch !== undefined) return branch;
      const tag = refs.get(`refs/tags/${name}^{}`) ?? refs.get(`refs/tags/${name}`);
      if (revision.kind === 'any' && tag !== undefined) return tag;
      if (revision.kind === 'any' && isCommit(name)) return name;
      throw new FleetError('SOURCE_MISSING', `${redactUrl(url)} has no branch ${name}`, {
        subject: redactUrl(url),
        hint: branchHint(refs),
      });
    }
    case 'commit':
      return revision.commit;
  }
};

const branchHint = (refs: ReadonlyMap<string, string>): string => {
  const names = [...refs.keys()].filter((ref) => ref.startsWith('refs/heads/')).map((ref) => ref.slice(11));
  return names.length === 0 ? 'It has no branches at all' : `It has ${nameSome(names)}`;
};

/**
 * Brings one folder of one commit onto the disk and returns its directory: fetched shallow and without other folders'
 * contents, kept under the commit's name, so that a second run needs no network for it.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING
 */
export const checkOut = async (
  plain: Git,
  repository: GitRepository,
  commit: string,
  path: string,
): Promise<string> => {
  const folder = createHash('sha256').update(path).digest('hex').slice(0, 12);
  const target = join(repository.cacheDirectory, 'trees', `${commit}-${folder}`);
  if (await exists(target)) return target;
  const git = withRemote(plain, repository.url);
  await prepare(git, repository);
  await fetchCommit(git, repository, commit);
  const draft = `${target}.${randomUUID()}`;
  await mkdir(draft, { recursive: true });
  try {
    await populate(git, repository, commit, path, draft);
    await keep(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(`${draft}.index`, { force: true });
  }
  return target;
};

/** Attributes that would change bytes between the repository and the disk are switched off for every file. */
const RAW_BYTES = '* -text -filter -ident -working-tree-encoding -export-subst\n';

const prepare = async (git: Git, repository: GitRepository): Promise<void> => {
  if (await exists(repository.gitDirectory)) return;
  const draft = `${repository.gitDirectory}.${randomUUID()}`;
  await mkdir(repository.cacheDirectory, { recursive: true });
  const made = await runGit(git, ['init', '--quiet', '--bare', '--template=', draft]);
  if (made.code !== 0) throw new FleetError('IO', `the cache could not be made: ${made.lastLine}`);
  await mkdir(join(draft, 'info'), { recursive: true });
  await writeFile(join(draft, 'info', 'attributes'), RAW_BYTES);
  // Contents that a partial fetch left out are asked for from this remote; its URL comes with every command.
  await runGit(git, ['--git-dir', draft, 'config', 'core.repositoryFormatVersion', '1']);
  await runGit(git, ['--git-dir', draft, 'config', 'extensions.partialClone', REMOTE]);
  await keep(draft, repository.gitDirectory);
  await rm(draft, { recursive: true, force: true });
};

const fetchCommit = async (git: Git, repository: GitRepository, commit: string): Promise<void> => {
  const at = ['--git-dir', repository.gitDirectory];
  const fetch = [...at, 'fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--filter=blob:none'];
  const one = await runGit(git, [...fetch, '--depth=1', REMOTE, commit]);
  if (one.code === 0) return;
  // Old servers give only what a ref points at: then the branches come whole, and the commit must be among them.
  const all = await runGit(git, [...fetch, REMOTE, '+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*']);
  if (all.code !== 0) throw unreachable(repository.url, all.lastLine);
  const known = await runGit(git, [...at, 'cat-file', '-e', `${commit}^{commit}`]);
  if (known.code === 0) return;
  throw new FleetError('SOURCE_MISSING', `${redactUrl(repository.url)} has no commit ${commit}`, {
    subject: redactUrl(repository.url),
    hint: `Push the commit, or name one that is there (git said: ${one.lastLine})`,
  });
};

const populate = async (
  git: Git,
  repository: GitRepository,
  commit: string,
  path: string,
  draft: string,
): Promise<void> => {
  const at = ['--git-dir', repository.gitDirectory];
  const listed = await runGit(git, [...at, 'ls-tree', '-r', '-z', '--full-tree', commit]);
  if (listed.code !== 0) throw unreachable(repository.url, listed.lastLine);
  const entries = listed.out.split('\0').map((entry) => ({
    mode: entry.slice(0, 6),
    path: entry.slice(entry.indexOf('\t') + 1),
  }));
  const withIndex = { ...git, env: { ...git.env, GIT_INDEX_FILE: `${draft}.index` } };
  const take = async (scope: string): Promise<void> => {
    const command = [...at, '--work-tree', draft, 'checkout', '--quiet', commit, '--', scope];
    const taken = await runGit(withIndex, command);
    if (taken.code !== 0) throw unreachable(repository.url, taken.lastLine);
  };
  const inside = (entry: { path: string }) =>
    path === '.' || entry.path === path || entry.path.startsWith(`${path}/`);
  if (entries.some(inside)) await take(path === '.' ? '.' : `:(top,literal)${path}`);
  // What the root and the folders above say about ignored files counts for this folder too.
  const isRules = (entry: { path: string }) => /(?:^|\/)\.sourceignore$/.test(entry.path);
  if (path !== '.' && entries.some(isRules)) await take(':(top,glob)**/.sourceignore');
  // Links are not followed anywhere (read-files.ts); a checkout without links leaves their text behind.
  for (const entry of entries)
    if (entry.mode === '120000') await rm(join(draft, entry.path), { force: true });
};

/** Puts a finished draft in its place; when another run was first, its result is the same. */
const keep = async (draft: string, target: string): Promise<void> => {
  try {
    await rename(draft, target);
  } catch (error) {
    if (!(await exists(target))) throw error;
  }
};

const exists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const unreachable = (url: string, reason: string): FleetError =>
  new FleetError(
    'SOURCE_UNREACHABLE',
    `${redactUrl(url)} could not be read: ${reason || 'git gave no reason'}`,
    {
      subject: redactUrl(url),
      hint: 'Check the URL, the network and git’s credentials, or read it from a directory with --map',
    },
  );
