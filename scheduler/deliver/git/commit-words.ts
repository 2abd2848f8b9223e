import type { SourceSnapshot } from '../../model/model.ts';

/** Committer of all our commits, by which they are recognised. */
export const COMMITTER = 'Fleet Ferry <fleet-ferry@localhost>';

/** Name of the branch for a proposal, which contains the name of the change. */
export const proposalBranch = (change: string): string => `deployment/${change}`;

/** The name of the change, if a branch is named like a proposal. */
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

/** Counts of files, and the source commits. Local directories are left out, because their paths reveal a machine. */
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

/** The commit message. The same change from the same sources has the same message. */
export const messageOf = (words: CommitWords): string =>
  `${titleOf(words)}

${bodyOf(words)}

Fleet-Ferry-Environment: ${words.environment}
Fleet-Ferry-Base: ${words.base}
Fleet-Ferry-Change: ${words.change}
`;

/**
 * Whether a branch head (as printed by `git cat-file commit`) is our proposal for `base`. With another person's commit on top,
 * the branch is no longer ours.
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
