import type { BuiltBundle } from '../bundle/build-bundle.ts';
import type { PublishedRelease } from '../publish/read-release.ts';
import { type Allowance, overAllowance } from './allowance.ts';
import type { FindRemovals } from './find-removals.ts';
import type { Removal } from './removal.ts';

export type Judgement = {
  readonly outcome: 'released' | 'unchanged' | 'empty' | 'blocked' | 'removals-held';
  /** What the last release has and the bundle has not. */
  readonly removals: readonly Removal[];
  /** Those that hold the channel. */
  readonly unmeant: readonly Removal[];
};

/**
 * May a bundle follow the channel's last release? An empty one is released only to take away what an earlier one brought;
 * and nothing is taken away because somebody's template failed today, or because a label was misspelled.
 */
export const judgeBundle = async (
  built: BuiltBundle,
  previous: PublishedRelease | undefined,
  findRemovals: FindRemovals,
  allowance: Allowance,
): Promise<Judgement> => {
  const { bundle } = built;
  const before = previous?.subjects.get(`bundle/${bundle.kind}`);
  if (before === bundle.digest) return { outcome: 'unchanged', removals: [], unmeant: [] };
  const removals = previous ? await findRemovals(built, previous) : [];
  if (removals.some(({ why }) => why === 'held')) return { outcome: 'blocked', removals, unmeant: [] };
  const unmeant = overAllowance(removals, allowance);
  if (unmeant.length > 0) return { outcome: 'removals-held', removals, unmeant };
  const isEmpty = before === undefined && bundle.config.assignments.length + removals.length === 0;
  return { outcome: isEmpty ? 'empty' : 'released', removals, unmeant };
};
