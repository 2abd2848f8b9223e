import { FleetError } from '#bundles/errors';
import { type RetryPolicy, retry } from '#bundles/retry';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { openRepository } from '../../load/sources/git-repository.ts';
import { redactUrl } from '../../model/repository-url.ts';
import type { Git } from '../../load/sources/run-git.ts';
import type { CommitIdentity } from './commit-identity.ts';
import { messageOf, type Trailers, type CommitText } from './commit-text.ts';
import { openScratch } from './open-scratch.ts';
import type { Changes } from './plan-changes.ts';
import { pushBranch } from './push-branch.ts';
import { type BranchFiles, readBranch } from './read-branch.ts';
import { writeCommit } from './write-commit.ts';

/** A branch of a repository, and how we write to it. */
export type BranchPlace = {
  readonly git: Git;
  readonly cacheDirectory: string;
  readonly repo: string;
  readonly branch: string;
  readonly identity: CommitIdentity;
  readonly now: Date;
};

/** A change to deliver to a branch. */
export type BranchDelivery = BranchPlace & {
  /** undefined: the change is of no single environment's manifests. */
  readonly environment: string | undefined;
  /** Plans the changes on a branch with these files. */
  readonly plan: (before: BranchFiles) => Changes;
  /** @param isPromotion the proposal that brings a promotion, and not a later change of the environment's own */
  readonly words: (changes: Changes, isPromotion: boolean) => CommitText;
  /** Labels of the pull request. */
  readonly labels: (changes: Changes) => readonly string[];
  /** The promotion that the change delivers: its name in branches, and the candidate. */
  readonly promotion?: Trailers['promotion'];
  /** Only report what would change. */
  readonly dryRun?: boolean;
};

export type BranchOutcome = {
  readonly outcome: 'pushed' | 'unchanged' | 'planned';
  readonly changes: Changes;
  readonly commit: string | undefined;
};

/** Retries for a branch to which others push between our read and our push. */
const POLICY: RetryPolicy = { firstMs: 100, longestMs: 1000, tries: 10, jitter: 'none' };

/**
 * Delivers a change to a branch as one commit on top of its head. Writes nothing if the branch already has it. If someone
 * pushes meanwhile, the change is planned again on the new head.
 * @throws FleetError SOURCE_UNREACHABLE, GIT_REFUSED, BUSY
 */
export const deliverBranch = (delivery: BranchDelivery): Promise<BranchOutcome> =>
  untilPushed(delivery, async (repository) => {
    const base = repository.refs.get(`refs/heads/${delivery.branch}`);
    const changes = await planDelivery(delivery, repository, base);
    if (changes.written.length + changes.removed.length === 0)
      return { outcome: 'unchanged', changes, commit: base };
    if (delivery.dryRun) return { outcome: 'planned', changes, commit: base };
    const { branch } = delivery;
    const pushed = await pushChanges(delivery, repository, changes, {
      onto: base,
      branch,
      expected: base,
      words: delivery.words(changes, false),
    });
    return pushed === 'moved' ? pushed : { outcome: 'pushed', changes, commit: pushed.commit };
  });

/** @param base the commit of the branch; undefined if there is no branch */
export const planDelivery = async (
  { git, plan }: Pick<BranchDelivery, 'git' | 'plan'>,
  repository: GitRepository,
  base: string | undefined,
): Promise<Changes> => plan(base === undefined ? new Map() : await readBranch(git, repository, base));

/** Creates the commit and pushes it to `branch`. @returns its id, or 'moved' if the branch was not at `expected` */
export const pushChanges = async (
  { git, branch: base, environment, promotion, identity, now }: BranchDelivery,
  repository: GitRepository,
  changes: Changes,
  {
    onto,
    branch,
    expected,
    words,
  }: {
    /** The parent commit; undefined for a new branch. */
    readonly onto: string | undefined;
    readonly branch: string;
    readonly expected: string | undefined;
    readonly words: CommitText;
  },
): Promise<{ readonly commit: string } | 'moved'> => {
  const message = messageOf(words, { environment, base, change: changes.name, promotion });
  await using scratch = await openScratch(git, repository, onto);
  const commit = await writeCommit(git, scratch, { base: onto, changes, message, identity, now });
  const pushed = await pushBranch(git, scratch, { branch, commit, expected });
  return pushed === 'moved' ? pushed : { commit };
};

/** Repeats an attempt on a freshly read repository while it returns 'moved'. @throws FleetError BUSY, ABORTED */
export const untilPushed = async <T>(
  { git, repo, cacheDirectory }: BranchPlace,
  attempt: (repository: GitRepository) => Promise<T | 'moved'>,
): Promise<T> => {
  const busy = new FleetError('BUSY', `others keep pushing to ${redactUrl(repo)}`, {
    hint: 'Run it again when they are done; nothing was written',
  });
  const once = async (): Promise<T> => {
    const result = await attempt(await openRepository(git, repo, cacheDirectory));
    if (result === 'moved') throw busy;
    return result;
  };
  return retry(POLICY, once, { isRetryable: (error) => error === busy, signal: git.signal });
};
