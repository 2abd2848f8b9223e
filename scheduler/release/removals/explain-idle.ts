import { didYouMean } from '#bundles/nearest-name';
import type { Allowance } from '../../settings/allowance.ts';
import type { Removal } from './removal.ts';

/**
 * One sentence for each name in --allow-removals that has no effect.
 * @param removals of all channels that were built
 */
export const explainIdle = ({ names }: Allowance, removals: readonly Removal[]): readonly string[] => {
  const going = new Map(removals.map((removal) => [removal.assignment, removal]));
  return [...names].flatMap((name) => {
    const removal = going.get(name);
    if (removal?.why === 'held')
      return `--allow-removals does not remove ${name}, which is held: mend what holds it, delete its Workload, deployment target or policy, or give --previous with the layout of the last release`;
    if (removal) return [];
    return `--allow-removals names ${name}, which no release would remove. ${didYouMean(name, going.keys()) ?? ''}`.trim();
  });
};
