import { isFleetError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { RunExclusively } from '../acquire/pull-release.ts';
import type { Agent } from '../store/agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import type { CheckResult, DesiredPackage } from '../model/target.ts';
import { unknownHealth } from '../model/unknown-health.ts';
import { record } from '../store/journal/boundary.ts';
import { lastChange } from '../store/journal/operations.ts';
import { failedChecksOf } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { describeFailedChecks, recordChecks } from '../store/outbox/record-checks.ts';
import { findAttempt, forgetAttempts, HEALTH, postpone } from '../store/applied/attempts.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isSamePackage, type PackageRef } from '../store/applied/package-ref.ts';
import { findPackage, type PackageRow, savePackage } from '../store/applied/packages.ts';

/**
 * Waits for the health of a package that was corrected, is broken, or may be unwell by a look, and stores the result. The wait only reads, so it needs
 * no lock. The result is dropped if the package was applied or removed meanwhile. An unhealthy package is judged again after
 * pauses that double.
 * @returns false if the package was healthy and still is, so that nothing was stored: there is nothing to act on or to report
 * @throws FleetError ABORTED when the signal is aborted, or the error of writing to the state
 */
export const judgeHealth = async (
  agent: Agent,
  assignment: string,
  exclusively: RunExclusively,
): Promise<boolean> => {
  const { state, signal } = agent;
  const current = findPackage(state, assignment)?.current;
  const target = agent.targets.find(({ kind }) => kind === current?.kind);
  if (!current || !target) {
    forgetAttempts(state, assignment, HEALTH);
    return true;
  }
  const change = lastChange(state, assignment);
  const isStill = (row: PackageRow | undefined): row is PackageRow =>
    row?.current !== undefined &&
    isSamePackage(row.current, current) &&
    lastChange(state, assignment) === change;
  let checks: readonly CheckResult[] | undefined;
  try {
    const loaded = await loadPackage(state, agent.identity.agent, current, signal);
    const desired: DesiredPackage = { ...loaded, ranBefore: true };
    // A look only asks whether the checks of a healthy package still pass, and one that passes changes nothing.
    if (isWell(state, assignment) && (await target.passesChecks?.(desired, signal))) return false;
    checks = await target.settle(desired, signal);
  } catch (cause) {
    signal.throwIfAborted();
    if (isFleetError(cause, 'ABORTED')) throw toFleetError(cause);
    // An unreachable cluster says nothing about the package; the drift check reports why live state cannot be read.
  }
  return await exclusively(async () => {
    const row = findPackage(state, assignment);
    if (!isStill(row)) return true;
    // Checks that failed for a moment and passed within their timeout.
    if (checks && isWell(state, assignment) && !isNews(row, checks)) return false;
    record(agent, `health ${assignment}`, () => {
      if (!checks) postpone(state, assignment, HEALTH, agent.edge.now());
      else noteHealth(agent, row, current, checks);
    });
    return true;
  });
};

const isNews = (row: PackageRow, settled: readonly CheckResult[]): boolean =>
  outcomesOf(settled) !== outcomesOf(row.checks);

/** Outcomes of checks, as one text. Those of results with a key are known from looks. */
const outcomesOf = (checks: readonly CheckResult[]): string =>
  JSON.stringify(checks.flatMap(({ key, name, outcome }) => (key === undefined ? [[name, outcome]] : [])));

/** Healthy, and not corrected since its checks passed. */
const isWell = (state: Agent['state'], assignment: string): boolean =>
  findPackage(state, assignment)?.status === 'healthy' &&
  findAttempt(state, assignment, HEALTH) === undefined;

const noteHealth = (
  agent: Agent,
  row: PackageRow,
  ref: PackageRef,
  settled: readonly CheckResult[],
): void => {
  const { state, edge } = agent;
  const { assignment } = row;
  // What cannot be compared is known from looks.
  const checks = [
    ...settled.filter(({ key }) => key === undefined),
    ...row.checks.filter(({ key }) => key !== undefined),
  ];
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length === 0) {
    forgetAttempts(state, assignment, HEALTH);
    savePackage(state, { ...(row.status === 'broken' ? recoveredRow(agent, row) : row), checks });
    if (row.status === 'broken') recordRecovered(agent, ref, checks);
  } else {
    postpone(state, assignment, HEALTH, edge.now());
    const message = describeFailedChecks(failed);
    const said = { code: 'CHECK_FAILED', message };
    const since = row.status === 'broken' ? row.since : formatTime(edge.now());
    savePackage(state, { ...row, ...said, status: 'broken', checks, since });
    if (row.code !== said.code || row.message !== message) recordBroken(agent, ref, said, checks);
  }
  recordChecks(agent, row, ref, checks);
};

/** The row of a recovered package: healthy, or failed if the desired version is another one that did not come up. */
const recoveredRow = (agent: Agent, row: PackageRow): PackageRow => {
  const failure = isSamePackage(row.current, row.desired)
    ? undefined
    : findFailure(agent.state, row.assignment, row.desired);
  return {
    ...row,
    status: failure ? 'failed' : 'healthy',
    code: failure?.code,
    message: failure?.message,
    since: formatTime(agent.edge.now()),
  };
};

const packageFieldsOf = ({ assignment, package: digest, siteValues, release }: PackageRef) => ({
  type: 'package',
  assignment,
  package: digest,
  siteValues,
  release,
});

/** Reports the recovery with an event of type `package`, as the failure was reported. */
const recordRecovered = (agent: Agent, current: PackageRef, checks: readonly CheckResult[]): void => {
  const row = findPackage(agent.state, current.assignment);
  if (row?.status === 'failed' && row.desired) {
    const { code, message } = row;
    appendEvent(agent, { ...packageFieldsOf(row.desired), outcome: 'failed', code, message });
    return;
  }
  const said = { message: 'the package is healthy again', ...unknownHealth(checks) };
  appendEvent(agent, { ...packageFieldsOf(current), outcome: 'unchanged', ...said });
};

const recordBroken = (
  agent: Agent,
  current: PackageRef,
  said: { readonly code: string; readonly message: string },
  checks: readonly CheckResult[],
): void => {
  const detail = { operation: 'correct', rollingBack: false, ...failedChecksOf(checks) };
  appendEvent(agent, { ...packageFieldsOf(current), outcome: 'failed', ...said, detail });
};
