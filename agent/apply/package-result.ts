import type { Outcome } from '#bundles/report/event';
import type { Operation } from '../journal/operations.ts';

/** What became of one package. */
export type PackageResult = {
  readonly assignment: string;
  readonly outcome: Outcome;
  readonly code?: string;
  readonly message?: string;
  /** What runs again after a failure. */
  readonly rolledBack?: boolean;
};

/** What to say of a finished operation. */
export const resultOf = (operation: Operation): PackageResult => {
  const { assignment, kind, from, outcome, code, message } = operation;
  if (outcome === 'kept') {
    const said = {
      ...(code === undefined ? {} : { code }),
      ...(message === undefined ? {} : { message }),
    };
    if (kind === 'remove')
      return { assignment, outcome: code === 'REMOVAL_WAITS' ? 'skipped' : 'deleted', ...said };
    return { assignment, outcome: from ? 'configured' : 'created', ...said };
  }
  if (outcome === 'superseded')
    return { assignment, outcome: 'skipped', ...(message === undefined ? {} : { message }) };
  const said = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
  if (outcome === 'held') return { assignment, outcome: 'skipped', ...said };
  return {
    assignment,
    outcome: 'failed',
    ...said,
    rolledBack: outcome === 'rolled-back',
  };
};

/** What an interruption had left half done is part of what this run did, unless the run then did more to it. */
export const withResumed = (
  resumed: Operation | undefined,
  packages: readonly PackageResult[],
): readonly PackageResult[] =>
  resumed && packages.every(({ assignment }) => assignment !== resumed.assignment)
    ? [resultOf(resumed), ...packages]
    : packages;
