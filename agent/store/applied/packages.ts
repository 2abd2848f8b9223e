import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { CheckResult, Drift } from '../../model/target.ts';
import type { PackageRef } from './package-ref.ts';
import type { State } from '../state.ts';

/**
 * waiting: desired, not yet tried. healthy: runs as desired (or as a local rollback left it). failed: the desired version did
 * not come up; the last good one runs, if there is one. skipped: held back by another package or by the prune budget.
 * broken: neither version came up; live state is between the two.
 */
export type PackageStatus = 'waiting' | 'healthy' | 'failed' | 'skipped' | 'broken';

/** Result of comparing live state. `error`: the comparison failed, which never counts as in sync. */
export type SeenDrift = {
  readonly first: Timestamp;
  readonly items: readonly Drift[];
  readonly error?: { readonly code: string; readonly message: string };
};

export type PackageRow = {
  readonly assignment: string;
  /** undefined: the package left the bundle and is to be removed. */
  readonly desired: PackageRef | undefined;
  /** The last good version: applied, found healthy and kept. */
  readonly current: PackageRef | undefined;
  /** The version before `current`, for a local rollback. */
  readonly previous: PackageRef | undefined;
  /** The release under which an operator rolled the package back; the pin ends with the next release. */
  readonly pinnedRelease: number | undefined;
  /** Operator and reason of the rollback; valid only with `pinnedRelease`. */
  readonly pinnedReason: string | undefined;
  readonly status: PackageStatus;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly checks: readonly CheckResult[];
  readonly drift: SeenDrift | undefined;
  /** Time of the last change of the status. */
  readonly since: Timestamp;
};

type RawPackage = {
  readonly assignment: string;
  readonly desired: string | null;
  readonly current: string | null;
  readonly previous: string | null;
  readonly pinned_release: number | null;
  readonly pinned_reason: string | null;
  readonly status: PackageStatus;
  readonly code: string | null;
  readonly message: string | null;
  readonly checks: string;
  readonly drift: string | null;
  readonly since: Timestamp;
};

const parse = (text: string | null): unknown => (text === null ? undefined : parseJson(text));
const write = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const fromRaw = (row: RawPackage): PackageRow => ({
  assignment: row.assignment,
  desired: parse(row.desired) as PackageRef | undefined,
  current: parse(row.current) as PackageRef | undefined,
  previous: parse(row.previous) as PackageRef | undefined,
  pinnedRelease: row.pinned_release ?? undefined,
  pinnedReason: row.pinned_reason ?? undefined,
  status: row.status,
  code: row.code ?? undefined,
  message: row.message ?? undefined,
  checks: parseJson(row.checks) as CheckResult[],
  drift: parse(row.drift) as SeenDrift | undefined,
  since: row.since,
});

/** True while a removal waits for an object whose deletion something holds; the remainder must not be corrected. */
export const isHalfRemoved = ({ desired, code }: PackageRow): boolean =>
  desired === undefined && code === 'REMOVAL_WAITS';

/** Sorted by assignment. */
export const readPackages = ({ db }: State): readonly PackageRow[] =>
  (db.prepare('SELECT * FROM package ORDER BY assignment').all() as RawPackage[]).map(fromRaw);

export const findPackage = ({ db }: State, assignment: string): PackageRow | undefined => {
  const row = db.prepare('SELECT * FROM package WHERE assignment = ?').get(assignment) as
    | RawPackage
    | undefined;
  return row && fromRaw(row);
};

export const savePackage = ({ db }: State, row: PackageRow): void => {
  db.prepare(
    `INSERT OR REPLACE INTO package VALUES (@assignment, @desired, @current, @previous, @pinnedRelease,
     @status, @code, @message, @checks, @drift, @since, @pinnedReason)`,
  ).run({
    assignment: row.assignment,
    desired: write(row.desired),
    current: write(row.current),
    previous: write(row.previous),
    pinnedRelease: row.pinnedRelease ?? null,
    status: row.status,
    code: row.code ?? null,
    message: row.message ?? null,
    checks: JSON.stringify(row.checks),
    drift: write(row.drift),
    since: row.since,
    pinnedReason: row.pinnedReason ?? null,
  });
};

export const deletePackage = ({ db }: State, assignment: string): void => {
  db.prepare('DELETE FROM package WHERE assignment = ?').run(assignment);
  db.prepare('DELETE FROM failed WHERE assignment = ?').run(assignment);
  db.prepare('DELETE FROM attempt WHERE assignment = ?').run(assignment);
};
