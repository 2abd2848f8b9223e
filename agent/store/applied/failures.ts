import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { CheckResult } from '../../model/target.ts';
import { tryOf } from './attempts.ts';
import type { PackageRef } from './package-ref.ts';
import type { State } from '../state.ts';

/** A failed package. It is not retried until the package or its site values change, or an operator requests it. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly at: Timestamp;
  /** The failed checks; empty if the failure has another cause. */
  readonly checks: readonly CheckResult[];
};

export const findFailure = (
  { db }: State,
  assignment: string,
  ref: PackageRef | undefined,
): Failure | undefined => {
  const row = db
    .prepare('SELECT code, message, at, checks FROM failed WHERE assignment = ? AND identity = ?')
    .get(assignment, tryOf(ref)) as (Omit<Failure, 'checks'> & { readonly checks: string }) | undefined;
  return row && { ...row, checks: parseJson(row.checks) as CheckResult[] };
};

export const saveFailure = (
  { db }: State,
  assignment: string,
  ref: PackageRef | undefined,
  failure: Failure,
): void => {
  db.prepare('INSERT OR REPLACE INTO failed VALUES (?, ?, ?, ?, ?, ?)').run(
    assignment,
    tryOf(ref),
    failure.code,
    failure.message,
    failure.at,
    JSON.stringify(failure.checks),
  );
};

/** Deletes the failures of one assignment, or of all, and returns the assignments concerned. */
export const forgetFailures = ({ db }: State, assignment: string | undefined): readonly string[] => {
  const rows = db
    .prepare('DELETE FROM failed WHERE @assignment IS NULL OR assignment = @assignment RETURNING assignment')
    .all({ assignment: assignment ?? null }) as { assignment: string }[];
  return [...new Set(rows.map((row) => row.assignment))];
};
