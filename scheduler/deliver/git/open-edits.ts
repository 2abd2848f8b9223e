import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { openRepository } from '../../load/sources/git-repository.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';
import { code } from './commit-text.ts';
import type { BranchPlace } from './deliver-branch.ts';
import type { Forge, PullRequest } from './forge/forge.ts';
import { EDIT_BRANCH } from './propose-edit.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { type BranchFiles, fetchCommitsInto, readBranch, toGitPath } from './read-branch.ts';

/** A proposed edit that is neither merged nor declined. */
export type OpenEdit = {
  readonly branch: string;
  readonly author: string;
  /** ISO 8601. */
  readonly at: string;
  readonly title: string;
  /** For people; undefined without a forge. */
  readonly pullRequest: string | undefined;
};

/** One file of a proposed edit; undefined: there is no such file. */
export type EditedText = {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** An open edit with what it changes, beside the commit that it was made on. */
export type OpenChange = OpenEdit & { readonly files: readonly EditedText[] };

type Place = Pick<BranchPlace, 'git' | 'repo' | 'branch' | 'cacheDirectory'>;

/** Branches that are fetched and read together. */
const BATCH = 50;

type Said = Pick<OpenEdit, 'author' | 'at' | 'title'> & { readonly commit: string; readonly body: string };

type Proposal = Said & { readonly branch: string };

const readMessages = async (
  git: Git,
  { gitDirectory, url }: GitRepository,
  commits: readonly string[],
): Promise<ReadonlyMap<string, Said>> => {
  const format = '--format=%H%x00%an%x00%aI%x00%s%x00%b%x01';
  const words = ['--git-dir', gitDirectory, 'log', '--no-walk=unsorted', format, ...commits];
  const shown = await runGit(withRemote(git, url), words);
  if (shown.code !== 0) throw new FleetError('SOURCE_UNREACHABLE', `${redactUrl(url)}: ${shown.lastLine}`);
  const found = shown.out.split('\u0001').flatMap((text): Said[] => {
    const [commit = '', author = '', at = '', title = '', body = ''] = text.trimStart().split('\0');
    return commit === '' ? [] : [{ commit, author, at, title, body }];
  });
  return new Map(found.map((one) => [one.commit, one]));
};

type Read = {
  readonly repository: GitRepository;
  /** Files of the branch. */
  readonly there: BranchFiles;
  readonly proposals: readonly Proposal[];
};

/** The proposals of `proposeEdit` beside a branch, open or not. */
const readProposals = async ({ git, repo, branch, cacheDirectory }: Place): Promise<Read | undefined> => {
  const repository = await openRepository(git, repo, cacheDirectory);
  const base = repository.refs.get(`refs/heads/${branch}`);
  const heads = [...repository.refs].filter(([ref]) => ref.startsWith(`refs/heads/${EDIT_BRANCH}`));
  if (base === undefined || heads.length === 0) return undefined;
  const proposals: Proposal[] = [];
  for (let from = 0; from < heads.length; from += BATCH) {
    const part = heads.slice(from, from + BATCH);
    const commits = part.map(([, commit]) => commit);
    await fetchCommitsInto(git, repository, commits);
    const said = await readMessages(git, repository, commits);
    for (const [ref, commit] of part) {
      const one = said.get(commit);
      if (one) proposals.push({ ...one, branch: ref.slice('refs/heads/'.length) });
    }
  }
  return { repository, there: await readBranch(git, repository, base), proposals };
};

const byTime = (a: OpenEdit, b: OpenEdit): number => (a.at < b.at ? 1 : -1);

const isOpen = (pull: PullRequest | undefined): boolean => pull === undefined || pull.state === 'open';

/**
 * The proposals of `proposeEdit` that change a file and are open, newest first. Without a forge a proposal counts as open until the file is on
 * the branch as it has it.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, FORGE_REFUSED, FORGE_UNREACHABLE, ABORTED
 */
export const openEdits = async (
  place: Place,
  file: string,
  forge: Forge | undefined,
): Promise<readonly OpenEdit[]> => {
  const read = await readProposals(place);
  if (!read) return [];
  const { repository, there, proposals } = read;
  const found: OpenEdit[] = [];
  for (const { branch, commit, author, at, title, body } of proposals) {
    if (!body.split('\n').includes(`- ${code(file)}`)) continue;
    const proposed = (await readBranch(place.git, repository, commit)).get(toGitPath(file));
    if (proposed?.id === there.get(toGitPath(file))?.id) continue;
    const pull = await forge?.find(branch, place.branch);
    if (isOpen(pull)) found.push({ branch, author, at, title, pullRequest: pull?.url });
  }
  return found.toSorted(byTime);
};

/**
 * The open proposals that change YAML files, with these files before and after, newest first. A file that the branch has as proposed is left out.
 * @throws FleetError as openEdits
 */
export const openChanges = async (place: Place, forge: Forge | undefined): Promise<readonly OpenChange[]> => {
  const read = await readProposals(place);
  if (!read) return [];
  const { repository, there, proposals } = read;
  const { git } = place;
  const parents = new Map<string, string>();
  for (const { commit } of proposals) {
    const parent = await readParent(git, repository, commit);
    if (parent !== undefined) parents.set(commit, parent);
  }
  if (parents.size > 0) await fetchCommitsInto(git, repository, [...new Set(parents.values())]);
  const found: OpenChange[] = [];
  for (const { branch, commit, author, at, title } of proposals) {
    const parent = parents.get(commit);
    const after = await readBranch(git, repository, commit);
    const before: BranchFiles = parent === undefined ? new Map() : await readBranch(git, repository, parent);
    const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
      (path) =>
        /\.ya?ml$/.test(path) &&
        before.get(path)?.id !== after.get(path)?.id &&
        there.get(path)?.id !== after.get(path)?.id,
    );
    if (differing.length === 0) continue;
    const pull = await forge?.find(branch, place.branch);
    if (!isOpen(pull)) continue;
    const files: EditedText[] = [];
    for (const path of differing)
      files.push({
        path: Buffer.from(path, 'latin1').toString(),
        before: await readText(git, repository, before.get(path)?.id),
        after: await readText(git, repository, after.get(path)?.id),
      });
    found.push({ branch, author, at, title, pullRequest: pull?.url, files });
  }
  return found.toSorted(byTime);
};

/** The commit that a commit was made on. The cache is shallow, so that its history ends with each commit: the object itself names its parent. */
const readParent = async (
  git: Git,
  { gitDirectory, url }: GitRepository,
  commit: string,
): Promise<string | undefined> => {
  const words = ['--git-dir', gitDirectory, 'cat-file', 'commit', commit];
  const { out } = await runGit(withRemote(git, url), words);
  const [head = ''] = out.split('\n\n');
  return /^parent ([0-9a-f]+)$/m.exec(head)?.[1];
};

const readText = async (
  git: Git,
  { gitDirectory, url }: GitRepository,
  id: string | undefined,
): Promise<string | undefined> => {
  if (id === undefined) return undefined;
  const shown = await runGit(withRemote(git, url), ['--git-dir', gitDirectory, 'cat-file', 'blob', id]);
  if (shown.code !== 0) throw new FleetError('SOURCE_UNREACHABLE', `${redactUrl(url)}: ${shown.lastLine}`);
  return shown.out;
};
