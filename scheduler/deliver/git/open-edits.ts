import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { openRepository } from '../../load/sources/git-repository.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';
import { code } from './commit-text.ts';
import type { BranchPlace } from './deliver-branch.ts';
import type { Forge } from './forge/forge.ts';
import { EDIT_BRANCH } from './propose-edit.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { fetchCommitsInto, readBranch, toGitPath } from './read-branch.ts';

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

/** Branches that are fetched and read together. */
const BATCH = 50;

type Said = Pick<OpenEdit, 'author' | 'at' | 'title'> & { readonly commit: string; readonly body: string };

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

/**
 * The proposals of `proposeEdit` that change a file and are open, newest first. Without a forge a proposal counts as open until the file is on
 * the branch as it has it.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, FORGE_REFUSED, FORGE_UNREACHABLE, ABORTED
 */
export const openEdits = async (
  { git, repo, branch, cacheDirectory }: Pick<BranchPlace, 'git' | 'repo' | 'branch' | 'cacheDirectory'>,
  file: string,
  forge: Forge | undefined,
): Promise<readonly OpenEdit[]> => {
  const repository = await openRepository(git, repo, cacheDirectory);
  const base = repository.refs.get(`refs/heads/${branch}`);
  const heads = [...repository.refs].filter(([ref]) => ref.startsWith(`refs/heads/${EDIT_BRANCH}`));
  if (base === undefined || heads.length === 0) return [];
  const there = (await readBranch(git, repository, base)).get(toGitPath(file));
  const found: OpenEdit[] = [];
  const proposals: (Said & { readonly ref: string })[] = [];
  for (let from = 0; from < heads.length; from += BATCH) {
    const part = heads.slice(from, from + BATCH);
    const commits = part.map(([, commit]) => commit);
    await fetchCommitsInto(git, repository, commits);
    const said = await readMessages(git, repository, commits);
    for (const [ref, commit] of part) {
      const one = said.get(commit);
      if (one?.body.split('\n').includes(`- ${code(file)}`)) proposals.push({ ...one, ref });
    }
  }
  for (const { ref, commit, author, at, title } of proposals) {
    const proposed = (await readBranch(git, repository, commit)).get(toGitPath(file));
    if (proposed?.id === there?.id) continue;
    const head = ref.slice('refs/heads/'.length);
    const pull = await forge?.find(head, branch);
    if (pull !== undefined && pull.state !== 'open') continue;
    found.push({ branch: head, author, at, title, pullRequest: pull?.url });
  }
  return found.toSorted((a, b) => (a.at < b.at ? 1 : -1));
};
