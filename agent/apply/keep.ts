import { nameSome } from '#bundles/name-some';
import type { Outcome } from '#bundles/formats/events/event';
import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { type Operation, readResults } from '../store/journal/operations.ts';
import { changesOf, failedChecksOf, valuesOf } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { recordChecks } from '../store/outbox/record-checks.ts';
import {
  findAttempt,
  forgetAttempts,
  forgetTries,
  makeDue,
  postpone,
  REMOVAL,
} from '../store/applied/attempts.ts';
import { emptyRow } from '../store/empty-row.ts';
import { recordCompared } from '../store/last-look.ts';
import { findFailure } from '../store/applied/failures.ts';
import { addOwned, keepOwned, readLeaving } from '../store/applied/inventory.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { deletePackage, findPackage, type PackageRow, savePackage } from '../store/applied/packages.ts';
import { endOperation } from './end-operation.ts';
import { describeTerminating } from './describe-terminating.ts';
import { unknownHealth } from '../model/unknown-health.ts';
import type { StepResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Commits a finished operation: an apply becomes the current package, a rollback restores the last good one. */
export const keep = ({ agent, operation }: Work): void => {
  record(agent, `${nameOf(operation)}: kept`, () => {
    const owns = new Set(operation.plan?.owns.map(({ key }) => key));
    keepOwned(agent.state, operation.assignment, owns);
    const isGone = noteLeaving(agent, operation);
    if (operation.rollingBack) endRolledBack(agent, operation);
    else endKept(agent, operation, isGone);
  });
  // It was compared by its plan, and its checks have just ended.
  if (!operation.rollingBack && operation.to) recordCompared(agent, operation.assignment);
};

/**
 * Schedules the next look at objects that are still being deleted, after a pause that doubles.
 * @returns whether the package had such objects and the last of them is gone
 */
const noteLeaving = ({ state, edge }: Agent, { assignment, kind }: Operation): boolean => {
  const waited = findAttempt(state, assignment, REMOVAL) !== undefined;
  const leaving = readLeaving(state, assignment);
  const waits = leaving.length > 0;
  if (!waits) forgetAttempts(state, assignment, REMOVAL);
  // Those that only wait for other packages of the release are removed when it is applied.
  else if (kind === 'apply' && describeTerminating(assignment, leaving) === undefined)
    makeDue(state, assignment, REMOVAL, edge.now());
  else postpone(state, assignment, REMOVAL, edge.now());
  return waited && !waits;
};

/** @param isGone whether the last object that was being deleted is gone */
const endKept = (agent: Agent, operation: Operation, isGone: boolean): void => {
  const { state } = agent;
  const { assignment, kind, to } = operation;
  const row = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const results = readResults(state, operation);
  const held = describeTerminating(assignment, readLeaving(state, assignment));
  const isFollowUp = kind === 'correct' || kind === 'prune';
  const changed = hasChanged(results, isFollowUp && held !== undefined);
  const left = kind === 'remove' ? describeUndeleted(results) : undefined;
  const said =
    held === undefined ? left && { message: left } : ({ code: 'REMOVAL_WAITS', message: held } as const);
  endOperation(agent, { ...operation, ...said }, 'kept');
  if (kind === 'remove' && held !== undefined) {
    holdRemoval(agent, row, held);
    return;
  }
  keepRow(agent, row, operation, changed);
  // A correction or removal without changes is not reported.
  if (!isFollowUp || changed || isGone) {
    const { package: digest, siteValues, release } = to ?? operation.from ?? {};
    const values = isFollowUp ? {} : valuesOf(operation.from, to);
    appendEvent(agent, {
      type: EVENT_TYPES[kind],
      assignment,
      package: digest,
      siteValues,
      release,
      outcome: outcomeOf(operation, changed),
      ...reasonOf(operation, row, { isGone, left }),
      detail: { operation: kind, ...values, ...changesOf(results) },
    });
  }
  if (!isFollowUp) forgetTries(state, assignment);
  if (to && kind !== 'prune') recordChecks(agent, row, to, operation.checks);
};

/** @param mayWait whether skipped steps are no change: they wait for objects that are being deleted */
const hasChanged = (results: readonly StepResult[], mayWait: boolean): boolean =>
  results.some(({ outcome }) => outcome !== 'unchanged' && !(mayWait && outcome === 'skipped'));

/** Writes what is applied after the operation. @param changed whether the operation changed anything */
const keepRow = (agent: Agent, row: PackageRow, operation: Operation, changed: boolean): void => {
  const { state } = agent;
  switch (operation.kind) {
    case 'remove':
      deletePackage(state, operation.assignment);
      break;
    case 'correct':
      if (changed) savePackage(state, { ...row, drift: undefined });
      break;
    case 'prune':
      break;
    case 'apply':
    case 'restore':
      savePackage(state, appliedRow(agent, row, operation));
      break;
  }
};

/** Code and message of the event of an operation. @param left what a removal did not delete */
const reasonOf = (
  { kind, checks }: Operation,
  { pinnedReason }: PackageRow,
  { isGone, left }: { readonly isGone: boolean; readonly left: string | undefined },
): { readonly code?: string; readonly message?: string | undefined } => {
  switch (kind) {
    case 'apply':
      return unknownHealth(checks) ?? {};
    case 'restore':
      return { message: pinnedReason };
    case 'remove':
      return { message: left };
    case 'correct':
    case 'prune':
      return { message: isGone ? 'the deletion is complete' : undefined };
  }
};

/** Names what a removal did not delete, and why; undefined if nothing is left. */
const describeUndeleted = (results: readonly StepResult[]): string | undefined => {
  const left = results.filter(({ outcome }) => outcome !== 'deleted' && outcome !== 'unchanged');
  return left.length === 0
    ? undefined
    : `left here: ${nameSome(
        left.map(({ key, reason }) => `${key} (${reason})`),
        MAX_NAMED,
      )}`;
};

const MAX_NAMED = 10;

/** Marks a half-removed package as waiting: it is neither corrected nor counted as failed. Reports it once per message. */
const holdRemoval = (agent: Agent, row: PackageRow, message: string): void => {
  if (row.code === 'REMOVAL_WAITS' && row.message === message) return;
  const { assignment, current } = row;
  const said = { code: 'REMOVAL_WAITS', message } as const;
  savePackage(agent.state, { ...row, ...said, status: 'skipped', since: formatTime(agent.edge.now()) });
  const ref = current && {
    package: current.package,
    siteValues: current.siteValues,
    release: current.release,
  };
  appendEvent(agent, { type: 'package', assignment, ...ref, outcome: 'skipped', ...said });
};

const EVENT_TYPES = {
  apply: 'package',
  restore: 'rolled-back',
  correct: 'corrected',
  prune: 'corrected',
  remove: 'removed',
} as const;

const outcomeOf = ({ kind, from }: Operation, changed: boolean): Outcome => {
  if (kind === 'remove') return 'deleted';
  if (!from) return 'created';
  return changed ? 'configured' : 'unchanged';
};

const appliedRow = (agent: Agent, row: PackageRow, operation: Operation): PackageRow => {
  const { kind, from, to, checks } = operation;
  const before = from && !isSamePackage(from, to) ? from : row.previous;
  return {
    ...row,
    current: to,
    // A version that an operator rolled back from is not a target for another rollback.
    previous: kind === 'restore' ? undefined : before,
    status: 'healthy',
    code: undefined,
    message: undefined,
    checks,
    drift: undefined,
    since: formatTime(agent.edge.now()),
  };
};

const endRolledBack = (agent: Agent, operation: Operation): void => {
  const { state } = agent;
  const { assignment, kind, from, plan, handed } = operation;
  const row = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const owns = new Set(plan?.owns.map(({ key }) => key));
  for (const { assignment: owner, object } of handed) {
    if (!owns.has(object.key)) addOwned(state, owner, [object]);
  }
  endOperation(agent, operation, 'rolled-back');
  const { code, message } = operation;
  savePackage(state, {
    ...row,
    ...(kind === 'restore' ? { pinnedRelease: undefined } : { status: 'failed', code, message }),
    drift: undefined,
    checks: operation.checks,
    since: formatTime(agent.edge.now()),
  });
  // The agent reports a retry only when its reason changes.
  const remembered = findFailure(state, assignment, operation.to);
  const news = kind === 'restore' || remembered !== undefined || row.code !== code || row.message !== message;
  if (!news) return;
  appendEvent(agent, {
    type: 'rolled-back',
    assignment,
    package: from?.package,
    siteValues: from?.siteValues,
    release: from?.release,
    outcome: from ? 'configured' : 'deleted',
    code,
    message,
    detail: {
      operation: kind,
      ...failedChecksOf(remembered?.checks ?? []),
      ...changesOf(readResults(state, operation)),
    },
  });
  if (from) recordChecks(agent, row, from, operation.checks);
};
