import type { Digest } from '#bundles/digest';
import type { SourceSnapshot } from '../../model/model.ts';
import { COMMITTER } from './commit-identity.ts';

/** Name of the branch for a proposal, which contains the name of the change or of the promotion. */
export const proposalBranch = (name: string): string => `deployment/${name}`;

/** The name in the branch of a proposal, if a branch is named like one. */
export const changeOf = (branch: string): string | undefined =>
  /^deployment\/([0-9a-f]{12})$/.exec(branch)?.[1];

/** Title and text of a commit and of its pull request. */
export type CommitText = { readonly title: string; readonly body: string };

/** Content of the trailers by which our commits are recognised. */
export type Trailers = {
  /** undefined: the change is of no single environment's manifests. */
  readonly environment: string | undefined;
  /** The branch that the change is for. */
  readonly base: string;
  /** Name of the change: a hash of what is written and removed. */
  readonly change: string;
  /** Name of the promotion, and the promoted candidate. */
  readonly promotion?: { readonly name: string; readonly candidate: Digest } | undefined;
};

export type TreeCommitText = {
  readonly environment: string;
  readonly written: number;
  readonly removed: number;
  readonly sources: readonly SourceSnapshot[];
  /** '<channel>: stage <name> (1 of 3)' of each channel that is released in stages. */
  readonly stages?: readonly string[];
};

/** Formats text of a person as code, so that it does not act as markup or as an @mention. */
export const code = (text: string): string => `\`${text.replaceAll(/[`\p{Cc}]/gu, ' ')}\``;

export const titleOf = ({ environment }: Pick<TreeCommitText, 'environment'>): string =>
  `Update the manifests of ${environment}`;

const MAX_SOURCES = 100;

/** Counts of files, and the source commits. Local directories are left out, because their paths reveal a machine. */
export const bodyOf = ({ written, removed, sources, stages = [] }: TreeCommitText): string => {
  const commits = sources.filter(({ commit }) => commit !== undefined);
  const lines = [
    ...new Set(
      commits.map(({ repo, ref, commit }) => `- ${repo}${ref === undefined ? '' : ` ${ref}`} ${commit}`),
    ),
  ];
  const more = lines.length > MAX_SOURCES ? [`- and ${lines.length - MAX_SOURCES} more`] : [];
  const from = lines.length === 0 ? [] : ['', 'Made from', ...lines.slice(0, MAX_SOURCES), ...more];
  const rollouts = stages.length === 0 ? [] : ['', 'Rollouts', ...stages.map((line) => `- ${line}`)];
  return [`${written} files written, ${removed} removed.`, ...rollouts, ...from].join('\n');
};

/** The commit message. The same change from the same sources has the same message. */
export const messageOf = (
  { title, body }: CommitText,
  { environment, base, change, promotion }: Trailers,
): string => {
  const promoted = promotion
    ? `Fleet-Ferry-Promotion: ${promotion.name}\nFleet-Ferry-Candidate: ${promotion.candidate}\n`
    : '';
  const about = environment === undefined ? '' : `Fleet-Ferry-Environment: ${environment}\n`;
  return `${title}

${body}

${about}Fleet-Ferry-Base: ${base}
Fleet-Ferry-Change: ${change}
${promoted}`;
};

/**
 * The change that a branch head (as printed by `git cat-file commit`) proposes for `base`, if it is ours and its change or
 * promotion has this name. With another person's commit on top, the branch is no longer ours.
 * @param committer of our commits now; proposals under the default identity are recognised, too
 */
export const proposedChange = (
  commit: string,
  base: string,
  name: string,
  committer: string = COMMITTER,
): string | undefined => {
  const [head = '', ...message] = commit.split('\n\n');
  const trailers = message.join('\n\n').split('\n');
  const valueOf = (key: string): string | undefined =>
    trailers
      .findLast((line) => line.startsWith(`Fleet-Ferry-${key}: `))
      ?.slice(`Fleet-Ferry-${key}: `.length);
  const isOurs = [committer, COMMITTER].some((one) => head.includes(`\ncommitter ${one} `));
  const change = valueOf('Change');
  const isNamed = change === name || valueOf('Promotion') === name;
  return isOurs && isNamed && valueOf('Base') === base ? change : undefined;
};
