import type { Timestamp } from '#bundles/time';
import { identityOf, type PackageRef } from './package-ref.ts';
import type { State } from './state.ts';

/** A package that did not come up is not tried again until it, its site values, or a person's mind changes. */
export type Failure = { readonly code: string; readonly message: string; readonly at: Timestamp };

/** A removal has no identity of its own. */
const nameOf = (ref: PackageRef | undefined): string => (ref ? identityOf(ref) : 'removed');

export const findFailure = (
  { db }: State,
  assignment: string,
  ref: PackageRef | undefined,
): Failure | undefined =>
  db
    .prepare('SELECT code, message, at FROM failed WHERE assignment = ? AND identity = ?')
    .get(assignment, nameOf(ref)) as Failure | undefined;

export const saveFailure = (
  { db }: State,
  assignment: string,
  ref: PackageRef | undefined,
  failure: Failure,
): void => {
  db.prepare('INSERT OR REPLACE INTO failed VALUES (?, ?, ?, ?, ?)').run(
    assignment,
    nameOf(ref),
    failure.code,
    failure.message,
    failure.at,
  );
};

/** Forgets the failures of one assignment, or of all; says of which. */
export const forgetFailures = ({ db }: State, assignment: string | undefined): readonly string[] => {
  const rows = db
    .prepare('DELETE FROM failed WHERE @assignment IS NULL OR assignment = @assignment RETURNING assignment')
    .all({ assignment: assignment ?? null }) as { assignment: string }[];
  return [...new Set(rows.map((row) => row.assignment))];
};
