import type { Row, Verdict } from '../state/what-runs-where.ts';

/** Verdicts that need no attention, `held` because its operator said why. All others are marked, as are all rows of an agent that is silent, stale or stopped. */
const QUIET: ReadonlySet<Verdict> = new Set<Verdict>(['complies', 'not selected', 'held']);

type Judged = Pick<Row, 'verdict' | 'silent' | 'freshness'> & { readonly stopped?: boolean };

export const isQuiet = ({ verdict, silent, freshness, stopped = false }: Judged): boolean =>
  QUIET.has(verdict) && !silent && !stopped && freshness !== 'stale';

/** Addition to a verdict by what looks after the row: silent, service stopped, late or stale. */
export const ageMarks = ({ verdict, silent, freshness, stopped = false }: Judged): readonly string[] => [
  ...(silent ? ['silent'] : []),
  ...(stopped ? ['service stopped'] : []),
  ...(freshness === 'late' || (freshness === 'stale' && verdict !== 'stale') ? [freshness] : []),
];
