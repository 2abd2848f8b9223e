import type { BuiltBundle } from '../../assemble/bundle/build-bundle.ts';
import type { PublishedRelease } from '../../load/releases/read-release.ts';
import type { Allowance } from '../../settings/allowance.ts';
import type { FindRemovals } from './find-removals.ts';
import { isMeant, type Removal } from './removal.ts';

export type Judgement = {
  readonly outcome: 'released' | 'unchanged' | 'empty' | 'blocked' | 'removals-held';
  /** Packages of the last release that the bundle does not have. */
  readonly removals: readonly Removal[];
  /** The removals that keep the channel from being released. */
  readonly unmeant: readonly Removal[];
};

/**
 * Decides whether a bundle may follow the channel's last release. An empty bundle is released only if it removes packages. A
 * removal that may be an accident, such as a template error or a misspelled label, holds the release.
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

/** Removals that are neither intended nor allowed by name; empty if their number is within the allowance. */
const overAllowance = (removals: readonly Removal[], { count, names }: Allowance): readonly Removal[] => {
  const unmeant = removals.filter((removal) => !isMeant(removal) && !names.has(removal.assignment));
  return unmeant.length > count ? unmeant : [];
};
