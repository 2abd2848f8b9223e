import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import type { Allowance } from '../../settings/allowance.ts';
import type { FindRemovals } from './find-removals.ts';
import { isDeclaredRemoval, type Removal } from './removal.ts';

/** A bundle beside the one of the channel's last release. */
export type Comparison = {
  /** The last release names this bundle. */
  readonly isUnchanged: boolean;
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
  previous: StoredRelease | undefined,
  findRemovals: FindRemovals,
): Promise<Comparison> => {
  const { bundle } = built;
  const before = previous?.subjects.get(`bundle/${bundle.kind}`);
  const isUnchanged = before === bundle.digest;
  return {
    isUnchanged,
    isFirst: before === undefined,
    assignments: bundle.config.assignments.length,
    removals: previous && !isUnchanged ? await findRemovals(built, previous) : [],
  };
};

export type Judgement = {
  readonly outcome: 'released' | 'unchanged' | 'empty' | 'blocked' | 'removals-held';
  /** The removals that keep the channel from being released. */
  readonly undeclared: readonly Removal[];
};

/**
 * Decides whether a bundle may follow the channel's last release. An empty bundle is released only if it removes packages. A
 * removal that may be an accident, such as a template error or a misspelled label, holds the release. Pure.
 */
export const judgeBundle = (
  { isUnchanged, isFirst, assignments, removals }: Comparison,
  allowance: Allowance,
): Judgement => {
  if (isUnchanged) return { outcome: 'unchanged', undeclared: [] };
  if (removals.some(({ why }) => why === 'held')) return { outcome: 'blocked', undeclared: [] };
  const undeclared = overAllowance(removals, allowance);
  if (undeclared.length > 0) return { outcome: 'removals-held', undeclared };
  const isEmpty = isFirst && assignments + removals.length === 0;
  return { outcome: isEmpty ? 'empty' : 'released', undeclared };
};

/** Removals that are neither intended nor allowed by name; empty if their number is within the allowance. */
const overAllowance = (removals: readonly Removal[], { count, names }: Allowance): readonly Removal[] => {
  const undeclared = removals.filter(
    (removal) => !isDeclaredRemoval(removal) && !names.has(removal.assignment),
  );
  return undeclared.length > count ? undeclared : [];
};
