import { parseJson } from '#bundles/parse-json';
import type { Timestamp } from '#bundles/time';
import type { CheckResult } from '../apply/target.ts';
import { identityOf, type PackageRef } from './package-ref.ts';
import type { State } from './state.ts';

/** A package that did not come up is not tried again until it, its site values, or a person's mind changes. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  readonly at: Timestamp;
  /** The checks that failed; empty when something else did. */
  readonly checks: readonly CheckResult[];
};

/** A removal has no identity of its own. */
const nameOf = (ref: PackageRef | undefined): string => (ref ? identityOf(ref) : 'removed');

export const findFailure = (
  { db }: State,
  assignment: string,
  ref: PackageRef | undefined,
): Failure | undefined => {
  const row = db
    .prepare('SELECT code, message, at, checks FROM failed WHERE assignment = ? AND identity = ?')
    .get(assignment, nameOf(ref)) as (Omit<Failure, 'checks'> & { readonly checks: string }) | undefined;
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
    nameOf(ref),
    failure.code,
    failure.message,
    failure.at,
    JSON.stringify(failure.checks),
  );
};

/** Forgets the failures of one assignment, or of all; says of which. */
export const forgetFailures = ({ db }: State, assignment: string | undefined): readonly string[] => {
  const rows = db
    .prepare('DELETE FROM failed WHERE @assignment IS NULL OR assignment = @assignment RETURNING assignment')
    .all({ assignment: assignment ?? null }) as { assignment: string }[];
  return [...new Set(rows.map((row) => row.assignment))];
};
