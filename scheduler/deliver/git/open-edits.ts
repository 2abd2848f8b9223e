import { openRepository } from '../../load/sources/git-repository.ts';
import { runGit, withRemote } from '../../load/sources/run-git.ts';
import { code } from './commit-text.ts';
import type { BranchPlace } from './deliver-branch.ts';
import type { Forge } from './forge/forge.ts';
import { EDIT_BRANCH } from './propose-edit.ts';
import { fetchCommitInto, readBranch, toGitPath } from './read-branch.ts';

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

/** Maximum number of branches examined. */
const MAX_EXAMINED = 50;

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
  for (const [ref, commit] of heads.slice(0, MAX_EXAMINED)) {
    await fetchCommitInto(git, repository, commit);
    const format = '--format=%an%x00%aI%x00%s%x00%b';
    const shown = await runGit(withRemote(git, repo), [
      '--git-dir',
      repository.gitDirectory,
      'log',
      '-1',
      format,
      commit,
    ]);
    const [author = '', at = '', title = '', body = ''] = shown.out.split('\0');
    if (shown.code !== 0 || !body.split('\n').includes(`- ${code(file)}`)) continue;
    const proposed = (await readBranch(git, repository, commit)).get(toGitPath(file));
    if (proposed?.id === there?.id) continue;
    const head = ref.slice('refs/heads/'.length);
    const pull = await forge?.find(head, branch);
    if (pull !== undefined && pull.state !== 'open') continue;
    found.push({ branch: head, author, at, title, pullRequest: pull?.url });
  }
  return found.toSorted((a, b) => (a.at < b.at ? 1 : -1));
};
