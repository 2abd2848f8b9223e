import { parseTime } from '#bundles/time';
import type { Leaving } from '../model/target.ts';

/** Number of objects to name; further ones are counted. */
const MAX_NAMED = 5;

/**
 * Names the objects of a package that are still being deleted and their finalizers, without those that only wait for another object, and
 * the command that tries again. Returns undefined if there are none.
 * @param now adds the age of the oldest deletion
 */
export const describeTerminating = (
  assignment: string,
  leaving: readonly Leaving[],
  now?: Date,
): string | undefined => {
  const named = leaving.filter(({ message }) => message !== '');
  if (named.length === 0) return undefined;
  const more = named.length > MAX_NAMED ? `; and ${named.length - MAX_NAMED} more` : '';
  const text = named
    .slice(0, MAX_NAMED)
    .map(({ message }) => message)
    .join('; ');
  const [first] = named
    .map(({ since }) => since)
    .filter((since) => since !== '')
    .toSorted();
  const age = now && first ? ` (for ${ageOf(first, now)})` : '';
  return `${text}${more}${age}; end what holds it, then run: fleet-agent retry ${assignment}`;
};

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
] as const;

const ageOf = (since: string, now: Date): string => {
  const seconds = Math.max(0, Math.floor((now.getTime() - parseTime(since).getTime()) / 1000));
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
};
