import { FleetError } from '#bundles/errors';

/** Removals that a build permits without a deleted object: a number for each channel, and packages by name. */
export type Allowance = { readonly count: number; readonly names: ReadonlySet<string> };

export const NO_ALLOWANCE: Allowance = { count: 0, names: new Set() };

const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Parses '3', 'order-api-cloud', or several of them. The highest number counts. @throws FleetError USAGE */
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
