import { FleetError } from '#bundles/errors';
import { isMeant, type Removal } from './removal.ts';

/** What a build may remove although nobody deleted it: so many packages of each channel, and these by name. */
export type Allowance = { readonly count: number; readonly names: ReadonlySet<string> };

export const NO_ALLOWANCE: Allowance = { count: 0, names: new Set() };

const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** '3', 'order-api-cloud', or several of them. @throws FleetError USAGE */
export const parseAllowance = (words: readonly (string | number)[]): Allowance => {
  const texts = words.map(String);
  const counts = texts.filter((text) => /^\d{1,9}$/.test(text));
  const names = texts.filter((text) => !counts.includes(text));
  const bad = names.find((text) => !NAME.test(text));
  if (bad !== undefined)
    throw new FleetError('USAGE', `${JSON.stringify(bad.slice(0, 80))} is neither a number nor a package`, {
      hint: 'Write --allow-removals 2, or the names of the packages, as order-api-cloud',
    });
  return { count: Math.max(0, ...counts.map(Number)), names: new Set(names) };
};

/** What stands against a release: removals that nobody meant or allowed. None when they are within the allowed number. */
export const overAllowance = (
  removals: readonly Removal[],
  { count, names }: Allowance,
): readonly Removal[] => {
  const unmeant = removals.filter((removal) => !isMeant(removal) && !names.has(removal.assignment));
  return unmeant.length > count ? unmeant : [];
};
