import { parseJson } from '#bundles/parse-json';
import type { Timestamp } from '#bundles/time';
import type { CheckResult, Drift } from '../apply/target.ts';
import type { PackageRef } from './package-ref.ts';
import type { State } from './state.ts';

/**
 * waiting: wanted, not yet tried. healthy: runs as wanted (or as a local rollback left it). failed: the wanted one did
 * not come up, the last good one runs, if there is one. skipped: held back by another package, or by the prune
 * budget. broken: neither came up, live state is between the two.
 */
export type PackageStatus = 'waiting' | 'healthy' | 'failed' | 'skipped' | 'broken';

/** What a look at live state found; `error`: it could not be told, which is never 'in sync'. */
export type SeenDrift = {
  readonly first: Timestamp;
  readonly items: readonly Drift[];
  readonly error?: { readonly code: string; readonly message: string };
};

export type PackageRow = {
  readonly assignment: string;
  /** undefined: it left the bundle and is to be removed. */
  readonly desired: PackageRef | undefined;
  /** What runs: applied, found healthy and kept. The last good one. */
  readonly current: PackageRef | undefined;
  /** What ran before, for a local rollback. */
  readonly previous: PackageRef | undefined;
  /** Rolled back by a person under this release; ends at the next. */
  readonly pinnedRelease: number | undefined;
  /** Who rolled it back, and why; counts only with `pinnedRelease`. */
  readonly pinnedReason: string | undefined;
  readonly status: PackageStatus;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly checks: readonly CheckResult[];
  readonly drift: SeenDrift | undefined;
  /** When the status became what it is. */
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

/** Its removal has begun, and something that is being deleted is held: what is left of it is not to be put right. */
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
