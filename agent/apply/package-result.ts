import { defined } from '#bundles/defined';
import type { Outcome } from '#bundles/formats/events/event';
import type { Operation } from '../store/journal/operations.ts';

/** The result of a run for one package. */
export type PackageResult = {
  readonly assignment: string;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly message?: string;
  /** Set for a failure: true if the previous version runs again. */
  readonly rolledBack?: boolean;
};

/** The result of a finished operation. */
export const resultOf = (operation: Operation): PackageResult => {
  const { assignment, kind, from, outcome, code, message } = operation;
  if (outcome === 'kept') {
    const said = defined({
      code,
      message,
    });
    if (kind === 'remove')
      return { assignment, outcome: code === 'REMOVAL_WAITS' ? 'skipped' : 'deleted', ...said };
    return { assignment, outcome: from ? 'configured' : 'created', ...said };
  }
  if (outcome === 'superseded') return defined({ assignment, outcome: 'skipped', message });
  const said = defined({ code, message });
  if (outcome === 'held') return { assignment, outcome: 'skipped', ...said };
  return {
    assignment,
    outcome: 'failed',
    ...said,
    rolledBack: outcome === 'rolled-back',
  };
};

/** Adds the results of resumed operations, unless the run has another result for the same package. */
export const withResumed = (
  resumed: readonly Operation[],
  packages: readonly PackageResult[],
): readonly PackageResult[] => {
  const had = new Set(packages.map(({ assignment }) => assignment));
  return [...resumed.filter(({ assignment }) => !had.has(assignment)).map(resultOf), ...packages];
};
