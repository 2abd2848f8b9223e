import type { Row, Verdict } from '../state/what-runs-where.ts';

/** Verdicts that need no attention, `held` because its operator said why. All others are marked, as are all rows of an agent that is silent or stale. */
const QUIET: ReadonlySet<Verdict> = new Set<Verdict>(['complies', 'not selected', 'held']);

type Judged = Pick<Row, 'verdict' | 'silent' | 'freshness'>;

export const isQuiet = ({ verdict, silent, freshness }: Judged): boolean =>
  QUIET.has(verdict) && !silent && freshness !== 'stale';

/** Addition to a verdict by the age of the row: silent, late or stale. */
export const ageMarks = ({ verdict, silent, freshness }: Judged): readonly string[] => [
  ...(silent ? ['silent'] : []),
  ...(freshness === 'late' || (freshness === 'stale' && verdict !== 'stale') ? [freshness] : []),
];
