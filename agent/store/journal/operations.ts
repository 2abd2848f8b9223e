import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import type { CheckResult, OwnedObject, Plan, StepResult } from '../../model/target.ts';
import type { PackageRef } from '../applied/package-ref.ts';
import type { State } from '../state.ts';

/**
 * apply: install the packages of a release. restore: a rollback by an operator. correct: undo drift. prune: remove objects that the
 * running package no longer has and that could not be removed when it was applied. remove: the package left the bundle.
 */
export type OperationKind = 'apply' | 'restore' | 'correct' | 'prune' | 'remove';

/** Progress of an operation. The next start of the agent resumes at this phase. */
export type Phase = 'stage' | 'apply' | 'settle' | 'prune' | 'keep' | 'done';

/** An object that a package being removed owned until this operation took it over. */
export type HandedOver = { readonly assignment: string; readonly object: OwnedObject };

/** The transition of one package between two states; a row of the journal. */
export type Operation = {
  readonly id: number;
  readonly assignment: string;
  readonly kind: OperationKind;
  /** The running package at the start of the operation. */
  readonly from: PackageRef | undefined;
  /** The desired package; undefined: the package is removed. */
  readonly to: PackageRef | undefined;
  readonly phase: Phase;
  /** True while the phases run again, back to `from`. */
  readonly rollingBack: boolean;
  readonly plan: Plan | undefined;
  readonly nextStep: number;
  readonly checks: readonly CheckResult[];
  readonly handed: readonly HandedOver[];
  readonly outcome: 'kept' | 'failed' | 'rolled-back' | 'broken' | 'superseded' | 'held' | undefined;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly startedAt: Timestamp;
  readonly endedAt: Timestamp | undefined;
};

type Raw = {
  readonly id: number;
  readonly assignment: string;
  readonly kind: OperationKind;
  readonly from_ref: string | null;
  readonly to_ref: string | null;
  readonly phase: Phase;
  readonly rolling_back: number;
  readonly plan: string | null;
  readonly next_step: number;
  readonly checks: string;
  readonly handed: string;
  readonly outcome: Operation['outcome'] | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly started_at: Timestamp;
  readonly ended_at: Timestamp | null;
};

const parse = (text: string | null): unknown => (text === null ? undefined : parseJson(text));
const write = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

const fromRaw = (row: Raw): Operation => ({
  id: row.id,
  assignment: row.assignment,
  kind: row.kind,
  from: parse(row.from_ref) as PackageRef | undefined,
  to: parse(row.to_ref) as PackageRef | undefined,
  phase: row.phase,
  rollingBack: row.rolling_back === 1,
  plan: parse(row.plan) as Plan | undefined,
  nextStep: row.next_step,
  checks: parseJson(row.checks) as CheckResult[],
  handed: parseJson(row.handed) as HandedOver[],
  outcome: row.outcome ?? undefined,
  code: row.code ?? undefined,
  message: row.message ?? undefined,
  startedAt: row.started_at,
  endedAt: row.ended_at ?? undefined,
});

export const insertOperation = (
  { db }: State,
  begun: Pick<Operation, 'assignment' | 'kind' | 'from' | 'to' | 'startedAt'>,
): number =>
  Number(
    db
      .prepare(
        `INSERT INTO operation (assignment, kind, from_ref, to_ref, phase, started_at)
         VALUES (?, ?, ?, ?, 'stage', ?)`,
      )
      .run(begun.assignment, begun.kind, write(begun.from), write(begun.to), begun.startedAt).lastInsertRowid,
  );

export const readOperation = ({ db }: State, id: number): Operation =>
  fromRaw(db.prepare('SELECT * FROM operation WHERE id = ?').get(id) as Raw);

/** The operations that are under way, or that a kill or stop left unfinished, oldest first: at most one for each package. */
export const openOperations = ({ db }: State): readonly Operation[] =>
  (db.prepare('SELECT * FROM operation WHERE ended_at IS NULL ORDER BY id').all() as Raw[]).map(fromRaw);

/** The oldest open operation. */
export const openOperation = (state: State): Operation | undefined => openOperations(state)[0];

/** Id of the last operation that changed which package runs, which corrections and removals of objects do not; 0 if there was none. */
export const lastChange = ({ db }: State, assignment: string): number =>
  db
    .prepare(
      `SELECT coalesce(max(id), 0) FROM operation WHERE assignment = ? AND kind NOT IN ('correct', 'prune')`,
    )
    .pluck()
    .get(assignment) as number;

/** True if an update of a package changed objects and failed or was interrupted, after the last operation that succeeded: its objects may exist. */
export const hasUnfinishedTry = ({ db }: State, assignment: string): boolean =>
  db
    .prepare(
      `SELECT EXISTS (SELECT 1 FROM operation WHERE assignment = @assignment AND kind = 'apply'
       AND id > (SELECT coalesce(max(id), 0) FROM operation
         WHERE assignment = @assignment AND outcome = 'kept' AND kind NOT IN ('correct', 'prune'))
       AND EXISTS (SELECT 1 FROM result WHERE operation = operation.id))`,
    )
    .pluck()
    .get({ assignment }) === 1;

/** True if the operation may have written something: it was planned before, even if it is planned again now. */
export const hasBegun = ({ phase, nextStep }: Pick<Operation, 'phase' | 'nextStep'>): boolean =>
  phase !== 'stage' || nextStep > 0;

/** Newest first. */
export const lastOperations = ({ db }: State, limit: number): readonly Operation[] =>
  (db.prepare('SELECT * FROM operation ORDER BY id DESC LIMIT ?').all(limit) as Raw[]).map(fromRaw);

/** Without the plan of an operation that has ended: nothing reads it any more, and it names each object of the package. */
export const saveOperation = ({ db }: State, operation: Operation): void => {
  const isOpen = operation.endedAt === undefined;
  db.prepare(
    `UPDATE operation SET phase = @phase, rolling_back = @rollingBack, plan = @plan, next_step = @nextStep,
     checks = @checks, handed = @handed, outcome = @outcome, code = @code,
     message = @message, ended_at = @endedAt WHERE id = @id`,
  ).run({
    id: operation.id,
    phase: operation.phase,
    rollingBack: operation.rollingBack ? 1 : 0,
    plan: isOpen ? write(operation.plan) : null,
    nextStep: operation.nextStep,
    checks: JSON.stringify(operation.checks),
    handed: JSON.stringify(isOpen ? operation.handed : []),
    outcome: operation.outcome ?? null,
    code: operation.code ?? null,
    message: operation.message ?? null,
    endedAt: operation.endedAt ?? null,
  });
};

/** Records finished steps, one row each, and the number of the next step. */
export const saveSteps = (
  { db }: State,
  { id, rollingBack }: Operation,
  nextStep: number,
  results: readonly StepResult[],
): void => {
  const insert = db.prepare('INSERT INTO result VALUES (?, ?, ?, ?, ?, ?)');
  const first = nextStep - results.length;
  for (const [index, { key, outcome, reason }] of results.entries()) {
    insert.run(id, rollingBack ? 1 : 0, first + index, key, outcome, reason);
  }
  db.prepare('UPDATE operation SET next_step = ? WHERE id = ?').run(nextStep, id);
};

/** Results so far in the current direction of the operation (forward or rolling back). */
export const readResults = (
  { db }: State,
  { id, rollingBack }: Pick<Operation, 'id' | 'rollingBack'>,
): readonly StepResult[] =>
  db
    .prepare('SELECT key, outcome, reason FROM result WHERE operation = ? AND rolling_back = ? ORDER BY step')
    .all(id, rollingBack ? 1 : 0) as StepResult[];

/** Number of operations that `history` can show, and of results of their steps. Older ones are only in the reports. */
const KEPT_OPERATIONS = 1000;
const KEPT_RESULTS = 100_000;

export const forgetOldOperations = ({ db }: State): void => {
  db.prepare(
    `DELETE FROM operation WHERE ended_at IS NOT NULL AND (id <= (SELECT max(id) FROM operation) - ?
     OR id <= (SELECT operation FROM result ORDER BY operation DESC LIMIT 1 OFFSET ?))`,
  ).run(KEPT_OPERATIONS, KEPT_RESULTS);
};
