import type { Row, Verdict } from '../state/what-runs-where.ts';

/** Verdicts that need no attention, `held` because its operator said why. All others are marked, as are all rows of an agent that is silent or stale. */
const QUIET: ReadonlySet<Verdict> = new Set<Verdict>(['complies', 'not selected', 'held']);

export const isQuiet = ({ verdict, silent, freshness }: Row): boolean =>
  QUIET.has(verdict) && !silent && freshness !== 'stale';

/** Addition to a verdict by the age of the row: silent, late or stale. */
export const ageMarks = ({ verdict, silent, freshness }: Row): readonly string[] => [
  ...(silent ? ['silent'] : []),
  ...(freshness === 'late' || (freshness === 'stale' && verdict !== 'stale') ? [freshness] : []),
];
