import { FleetError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { RESERVED_BYTES } from '../acquire/blobs/free-space.ts';
import type { Agent } from '../store/agent.ts';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { hasBegun, type Operation, readResults, saveOperation } from '../store/journal/operations.ts';
import { changesOf, failedChecksOf, valuesOf } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { recordChecks } from '../store/outbox/record-checks.ts';
import { HEALTH, postpone, REMOVAL, tryOf } from '../store/applied/attempts.ts';
import { emptyRow } from '../store/empty-row.ts';
import { saveFailure } from '../store/applied/failures.ts';
import { findPackage, type PackageRow, savePackage } from '../store/applied/packages.ts';
import { isRevoked } from '../store/trust.ts';
import { isTransient } from './is-transient.ts';
import { endOperation } from './end-operation.ts';
import type { CheckResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Codes of failures that a full disk causes, too. */
const BY_FULL_DISK: ReadonlySet<string> = new Set([
  'APPLY_FAILED',
  'CHECK_FAILED',
  'DEB_FAILED',
  'UNIT_FAILED',
]);

/** Returns the error of a step or check, or DISK_FULL, which is tried again, if the disk of the agent's state is full. */
export const causeOf = async ({ state, freeBytes }: Agent, error: FleetError): Promise<FleetError> => {
  if (!BY_FULL_DISK.has(error.code) || (await freeBytes(state.directory)) >= RESERVED_BYTES) return error;
  return new FleetError('DISK_FULL', `the disk of ${state.directory} is full: ${error.message}`, {
    hint: 'Free some space; the agent tries again',
    cause: error,
  });
};

/**
 * Records a failure in one transaction. Forward: reports the package as failed and, if anything may have been written, starts
 * the rollback. During a rollback: the package is broken. An interrupted run, an unreachable cluster, and a rollback that waits
 * for the locks of dpkg, RAUC or a reboot are not failures.
 * @param also runs first, in the same transaction
 * @throws FleetError ABORTED, API_UNREACHABLE, or one of WAITED_FOR: the operation stays open
 */
export const fail = ({ agent, operation }: Work, cause: unknown, also: () => void = () => {}): void => {
  checkAborted(agent.signal);
  const error = toFleetError(cause);
  if (error.code === 'ABORTED' || isOutage(operation, error)) throw error;
  record(agent, `${nameOf(operation)}: failed`, () => {
    also();
    if (operation.rollingBack) endAsBroken(agent, operation, error);
    else failForward(agent, operation, error);
  });
};

/**
 * An unreachable cluster says nothing about the package and prevents a rollback as well: an operation that has begun stays
 * open and continues when the cluster answers. One that has not begun fails and is retried after a pause.
 */
const isOutage = (operation: Operation, { code }: FleetError): boolean => {
  const { rollingBack, kind } = operation;
  if (WAITED_FOR.has(code)) return rollingBack;
  return code === 'API_UNREACHABLE' && (hasBegun(operation) || rollingBack || kind === 'correct');
};

/** Causes for which a rollback waits: an apt of the host that works longer than a step waits, a program that keeps the host up, RAUC. */
const WAITED_FOR: ReadonlySet<string> = new Set(['BUSY', 'REBOOT_REFUSED', 'RAUC_BLOCKED']);

/**
 * Codes that are not retryable for a command but have an external cause: a missing permission, an admission policy or webhook of the
 * cluster, a read-only or immutable file
 * system, bounds that the next release may widen, an object that another package still owns,
 * Debian packages that the host has or lacks.
 */
const SURROUNDINGS: ReadonlySet<string> = new Set([
  'ADMISSION_DENIED',
  'API_DENIED',
  'DEB_FOREIGN',
  'DEB_UNMET',
  'OUT_OF_BOUNDS',
  'PERMISSION',
  'PATH_CLAIMED',
]);

/**
 * A denial by admission that was seen before the first write is tried again: that costs a dry run. One that came in the middle counts as a
 * fault of the content, because each try would change and roll back what runs.
 */
const isRetryableDenial = (operation: Operation, { code }: FleetError): boolean =>
  SURROUNDINGS.has(code) && (code !== 'ADMISSION_DENIED' || !hasBegun(operation));

/** Codes retried at each look without a pause: a try is cheap, and the cause ends with the work of another package or agent. */
const RETRIED_EACH_LOOK: ReadonlySet<string> = new Set(['BUSY', 'OUT_OF_BOUNDS', 'PATH_CLAIMED']);

type Said = { readonly code: string; readonly message: string };

const failForward = (agent: Agent, operation: Operation, error: FleetError): void => {
  const { state } = agent;
  const { assignment, kind } = operation;
  const before = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const row = operation.checks.length > 0 ? { ...before, checks: operation.checks } : before;
  const said: Said = { code: error.code, message: sentenceOf(error) };
  const failed = { ...operation, ...said };
  if (kind === 'prune') {
    // The running package is not concerned; the object stays in the inventory.
    postpone(state, assignment, REMOVAL, agent.edge.now());
    endOperation(agent, failed, 'failed');
    return;
  }
  planRetry(agent, operation, error, before);
  const touched = hasBegun(operation) && (kind === 'apply' || kind === 'restore');
  if (touched && mayRollBack(agent, operation, error)) {
    savePackage(state, row);
    saveOperation(state, { ...failed, rollingBack: true, phase: 'stage', plan: undefined, nextStep: 0 });
    return;
  }
  const between = touched && operation.from !== undefined;
  savePackage(state, { ...failedRow(row, kind, said, between), since: formatTime(agent.edge.now()) });
  endOperation(agent, failed, between ? 'broken' : 'failed');
};

/**
 * Stores when the package is tried again, and reports the failure. Failures with an external cause (a full or read-only disk, systemd or a
 * webhook that does not answer, a permission not granted yet) and corrections are retried after doubling pauses, and reported again only
 * when the reason changes.
 */
const planRetry = (agent: Agent, operation: Operation, error: FleetError, before: PackageRow): void => {
  const { state } = agent;
  const { assignment, kind, to } = operation;
  const said: Said = { code: error.code, message: sentenceOf(error) };
  const triedAgain = kind === 'correct' || error.retryable || isRetryableDenial(operation, error);
  if (!triedAgain) {
    const checks = failedOf(operation, error);
    saveFailure(state, assignment, to, { ...said, at: formatTime(agent.edge.now()), checks });
  }
  if (kind === 'correct') postpone(state, assignment, HEALTH, agent.edge.now());
  else if (triedAgain && !RETRIED_EACH_LOOK.has(error.code))
    postpone(state, assignment, tryOf(to), agent.edge.now());
  if (!triedAgain || before.code !== said.code || before.message !== said.message) {
    recordFailed(agent, operation, said, failedOf(operation, error));
  }
  if (to && operation.checks.length > 0) recordChecks(agent, before, to, operation.checks);
};

/** False where a rollback would take what the next try needs, or lead to a revoked package. */
const mayRollBack = ({ state }: Agent, operation: Operation, error: FleetError): boolean =>
  !isKeptForRetry(operation, error) &&
  !(operation.from && isRevoked(state, operation.from.package, operation.from.bundle));

/**
 * True for a first installation that failed for a cause which objects of the package may end once their pods run, such as a webhook that
 * they serve. To remove them would take from the next try what it needs; it continues over them. The inventory has all of them.
 */
const isKeptForRetry = ({ kind, from, handed }: Operation, error: FleetError): boolean =>
  kind === 'apply' && from === undefined && handed.length === 0 && isTransient(error);

/** The failed checks of an operation; of a unit that a step could not start, its last lines are one. */
const failedOf = ({ checks }: Operation, { printed, message }: FleetError): readonly CheckResult[] => [
  ...checks.filter(({ outcome }) => outcome === 'failed'),
  ...(printed ? [{ name: printed.by, outcome: 'failed' as const, message, output: printed.text }] : []),
];

/** @param touched live state may be between two versions, and the previous one was revoked: no version is current */
const failedRow = (row: PackageRow, kind: Operation['kind'], said: Said, touched: boolean): PackageRow => {
  if (touched) return { ...row, ...said, status: 'broken', current: undefined, pinnedRelease: undefined };
  switch (kind) {
    case 'restore':
      return { ...row, pinnedRelease: undefined };
    case 'correct':
      return { ...row, ...said, status: 'broken' };
    case 'apply':
    case 'prune':
    case 'remove':
      return { ...row, ...said, status: 'failed' };
  }
};

const endAsBroken = (agent: Agent, operation: Operation, error: FleetError): void => {
  const { state } = agent;
  const { assignment } = operation;
  const row = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const message = `${operation.message ?? 'it failed'}; rolling back failed too: ${sentenceOf(error)}`;
  savePackage(state, {
    ...row,
    status: 'broken',
    code: error.code,
    message,
    pinnedRelease: operation.kind === 'restore' ? undefined : row.pinnedRelease,
    since: formatTime(agent.edge.now()),
  });
  recordFailed(agent, operation, { code: error.code, message }, failedOf(operation, error));
  endOperation(agent, { ...operation, code: error.code, message }, 'broken');
};

const recordFailed = (
  agent: Agent,
  operation: Operation,
  said: Said,
  failed: readonly CheckResult[],
): void => {
  const { assignment, to, from, kind, rollingBack } = operation;
  const ref = rollingBack ? from : (to ?? from);
  appendEvent(agent, {
    type: 'package',
    assignment,
    package: ref?.package,
    siteValues: ref?.siteValues,
    release: ref?.release,
    outcome: 'failed',
    ...said,
    detail: {
      operation: kind,
      rollingBack,
      ...(kind === 'apply' && !rollingBack ? valuesOf(from, to) : {}),
      ...failedChecksOf(failed),
      ...changesOf(readResults(agent.state, operation)),
    },
  });
};
