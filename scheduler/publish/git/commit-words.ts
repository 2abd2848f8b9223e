import type { SourceSnapshot } from '../../platform/model.ts';

/** Who writes: also how a commit of ours is known again. */
export const COMMITTER = 'Fleet Ferry <fleet-ferry@localhost>';

/** Proposals of ours are on branches of this form, named by what they change. */
export const proposalBranch = (change: string): string => `deployment/${change}`;

/** The change that a branch's name says, if it is a proposal's. */
export const changeOf = (branch: string): string | undefined =>
  /^deployment\/([0-9a-f]{12})$/.exec(branch)?.[1];

export type CommitWords = {
  readonly environment: string;
  /** The branch that the change is for. */
  readonly base: string;
  readonly change: string;
  readonly written: number;
  readonly removed: number;
  readonly sources: readonly SourceSnapshot[];
};

export const titleOf = ({ environment }: Pick<CommitWords, 'environment'>): string =>
  `Update the manifests of ${environment}`;

const MAX_SOURCES = 100;

/** The files' counts and the commits that they were made from. Directories are somebody's machine: not told. */
export const bodyOf = ({ written, removed, sources }: CommitWords): string => {
  const commits = sources.filter(({ commit }) => commit !== undefined);
  const lines = [
    ...new Set(
      commits.map(({ repo, ref, commit }) => `- ${repo}${ref === undefined ? '' : ` ${ref}`} ${commit}`),
    ),
  ];
  const more = lines.length > MAX_SOURCES ? [`- and ${lines.length - MAX_SOURCES} more`] : [];
  const from = lines.length === 0 ? [] : ['', 'Made from', ...lines.slice(0, MAX_SOURCES), ...more];
  return [`${written} files written, ${removed} removed.`, ...from].join('\n');
};

/** The whole message. The same change of the same sources has the same words. */
export const messageOf = (words: CommitWords): string =>
  `${titleOf(words)}

${bodyOf(words)}

Fleet-Ferry-Environment: ${words.environment}
Fleet-Ferry-Base: ${words.base}
Fleet-Ferry-Change: ${words.change}
`;

/**
 * Is this commit (as `git cat-file commit` gives it) a proposal of ours for `base`, and the last on its branch? With
 * somebody else's commit on top it is theirs.
 */
export const isOurProposal = (commit: string, base: string, change: string): boolean => {
  const [head = '', ...message] = commit.split('\n\n');
  const trailers = message.join('\n\n').split('\n');
  return (
    head.includes(`\ncommitter ${COMMITTER} `) &&
    trailers.includes(`Fleet-Ferry-Base: ${base}`) &&
    trailers.includes(`Fleet-Ferry-Change: ${change}`)
  );
};
