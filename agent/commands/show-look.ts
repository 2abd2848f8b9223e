import type { Printed } from '#cli/format-table';
import type { Look } from '../daemon/look-around.ts';
import type { PackageDrift } from '../observe/observe.ts';
import { describeSiteHold } from '../store/site-hold.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

/** Lines for people about the findings and actions of one look: each once, and failures with their reason. */
export const showLook = ({ packages, drift, stale, held }: Look): readonly Printed[] => {
  const found = [
    ...(held ? [describeSiteHold(held)] : []),
    ...drift.flatMap(describeDrift),
    ...(stale?.causes ?? []).map(({ since, why, todo }) => `stale since ${since}: ${why}; ${todo}`),
  ];
  if (packages.length > 0) return [showPackages(packages), ...found];
  if (found.length > 0) return found;
  // What was not compared is not called well.
  return [drift.length === 0 ? 'No package runs here.' : 'Everything already runs as desired.'];
};

/** 7: a package failed. 8: something is held back, or still is not as it should be. */
export const exitCodeOfLook = ({ packages, drift }: Look): 0 | 7 | 8 =>
  exitCodeOf(packages) || (drift.every(agrees) ? 0 : 8);

const agrees = ({ drift, corrected, error }: PackageDrift): boolean =>
  error === undefined && (corrected ?? drift.length === 0);

const describeDrift = (seen: PackageDrift): readonly string[] => {
  const { assignment, drift, unchecked = [], corrected, failure, error } = seen;
  if (error) return [`${assignment}: live state could not be read: ${error.code}: ${error.message}`];
  const unknown = unchecked.map(({ message }) => `${assignment}: ${message}: left as it is`);
  if (drift.length === 0 && corrected !== undefined) {
    const why = failure ? `: ${failure.code}: ${failure.message}` : '';
    return [`${assignment}: ${corrected ? 'was broken, is well again' : `broken${why}`}`, ...unknown];
  }
  return [
    ...drift.map(
      ({ message, stays }) => `${assignment}: ${message}: ${stays ? 'left as it is' : outcomeOf(seen)}`,
    ),
    ...unknown,
  ];
};

const outcomeOf = ({ corrected, failure }: PackageDrift): string => {
  if (corrected) return 'corrected';
  return failure
    ? `not corrected: ${failure.code}: ${failure.message}`
    : 'left as it is, as onDrift, onStale or a hold says';
};
