import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import type { PublishedRelease } from '../../load/releases/read-release.ts';
import type { Allowance } from '../../settings/allowance.ts';
import type { FindRemovals } from './find-removals.ts';
import { isMeant, type Removal } from './removal.ts';

/** A bundle beside the one of the channel's last release. */
export type Comparison = {
  /** The last release names this bundle. */
  readonly isSame: boolean;
  /** No release names a bundle of this kind. */
  readonly isFirst: boolean;
  /** Number of its packages. */
  readonly assignments: number;
  /** Packages of the last release that the bundle does not have; not searched if it is the same. */
  readonly removals: readonly Removal[];
};

/** @param previous the channel's last release that agents can read */
export const compareBundle = async (
  built: BuiltBundle,
  previous: PublishedRelease | undefined,
  findRemovals: FindRemovals,
): Promise<Comparison> => {
  const { bundle } = built;
  const before = previous?.subjects.get(`bundle/${bundle.kind}`);
  const isSame = before === bundle.digest;
  return {
    isSame,
    isFirst: before === undefined,
    assignments: bundle.config.assignments.length,
    removals: previous && !isSame ? await findRemovals(built, previous) : [],
  };
};

export type Judgement = {
  readonly outcome: 'released' | 'unchanged' | 'empty' | 'blocked' | 'removals-held';
  /** The removals that keep the channel from being released. */
  readonly unmeant: readonly Removal[];
};

/**
 * Decides whether a bundle may follow the channel's last release. An empty bundle is released only if it removes packages. A
 * removal that may be an accident, such as a template error or a misspelled label, holds the release. Pure.
 */
export const judgeBundle = (
  { isSame, isFirst, assignments, removals }: Comparison,
  allowance: Allowance,
): Judgement => {
  if (isSame) return { outcome: 'unchanged', unmeant: [] };
  if (removals.some(({ why }) => why === 'held')) return { outcome: 'blocked', unmeant: [] };
  const unmeant = overAllowance(removals, allowance);
  if (unmeant.length > 0) return { outcome: 'removals-held', unmeant };
  const isEmpty = isFirst && assignments + removals.length === 0;
  return { outcome: isEmpty ? 'empty' : 'released', unmeant };
};

/** Removals that are neither intended nor allowed by name; empty if their number is within the allowance. */
const overAllowance = (removals: readonly Removal[], { count, names }: Allowance): readonly Removal[] => {
  const unmeant = removals.filter((removal) => !isMeant(removal) && !names.has(removal.assignment));
  return unmeant.length > count ? unmeant : [];
};
