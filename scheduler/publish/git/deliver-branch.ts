import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError, toFleetError } from '#bundles/errors';
import type { SourceSnapshot } from '../../platform/model.ts';
import type { GitRepository } from '../../platform/sources/git-cache.ts';
import { openRepository } from '../../platform/sources/git-repository.ts';
import { redactUrl } from '../../platform/sources/repository-url.ts';
import type { Git } from '../../platform/sources/run-git.ts';
import type { Tree } from '../../render/render-tree.ts';
import { messageOf } from './commit-words.ts';
import { openScratch } from './open-scratch.ts';
import { type Changes, planChanges } from './plan-changes.ts';
import { pushBranch } from './push-branch.ts';
import { readBranch } from './read-branch.ts';
import { writeCommit } from './write-commit.ts';

/** A tree that a branch shall hold. */
export type BranchDelivery = {
  readonly git: Git;
  readonly cacheDirectory: string;
  readonly repo: string;
  readonly branch: string;
  readonly environment: string;
  readonly tree: Tree;
  readonly isKept: (folder: string) => boolean;
  readonly sources: readonly SourceSnapshot[];
  readonly now: Date;
  /** Say what would change, and write nothing. */
  readonly dryRun?: boolean;
};

export type BranchOutcome = {
  readonly outcome: 'pushed' | 'unchanged' | 'planned';
  readonly changes: Changes;
  readonly commit: string | undefined;
};

/** How often somebody else may be faster. */
const ATTEMPTS = 10;
const PAUSE_MS = 100;

/**
 * Brings a tree onto a branch as one commit on top of what is there. Equal already: nothing is written. Somebody pushed
 * meanwhile: planned anew on their commit.
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
    const pushed = await pushChanges(delivery, repository, changes, { onto: base, branch, expected: base });
    return pushed === 'moved' ? pushed : { outcome: 'pushed', changes, commit: pushed.commit };
  });

export const planDelivery = async (
  { git, tree, isKept }: BranchDelivery,
  repository: GitRepository,
  base: string | undefined,
): Promise<Changes> =>
  planChanges(base === undefined ? new Map() : await readBranch(git, repository, base), tree, isKept);

/** Makes the commit and moves `branch` to it. @returns its id, or 'moved' when somebody was faster */
export const pushChanges = async (
  { git, branch: base, environment, sources, now }: BranchDelivery,
  repository: GitRepository,
  changes: Changes,
  {
    onto,
    branch,
    expected,
  }: {
    /** The commit that it is made on. */
    readonly onto: string | undefined;
    readonly branch: string;
    readonly expected: string | undefined;
  },
): Promise<{ readonly commit: string } | 'moved'> => {
  const message = messageOf({
    environment,
    base,
    change: changes.name,
    written: changes.written.length,
    removed: changes.removed.length,
    sources,
  });
  await using scratch = await openScratch(git, repository, onto);
  const commit = await writeCommit(git, scratch, { base: onto, changes, message, now });
  const pushed = await pushBranch(git, scratch, { branch, commit, expected });
  return pushed === 'moved' ? pushed : { commit };
};

/** Tries with fresh eyes until nobody else moves a branch between our look and our push. @throws FleetError BUSY */
export const untilPushed = async <T>(
  { git, repo, cacheDirectory }: Pick<BranchDelivery, 'git' | 'repo' | 'cacheDirectory'>,
  attempt: (repository: GitRepository) => Promise<T | 'moved'>,
): Promise<T> => {
  for (let tries = 1; tries <= ATTEMPTS; tries += 1) {
    const result = await attempt(await openRepository(git, repo, cacheDirectory));
    if (result !== 'moved') return result;
    await sleep(PAUSE_MS * tries, undefined, git.signal && { signal: git.signal }).catch((error: unknown) => {
      throw toFleetError(error, `waiting for ${redactUrl(repo)}`);
    });
  }
  throw new FleetError('BUSY', `others push to ${redactUrl(repo)} all the time`, {
    hint: 'Run it again when they are done; nothing was written',
  });
};
