import { isFleetError, toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Exclusively } from '../acquire/pull-release.ts';
import type { Agent } from '../agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import type { CheckResult } from '../apply/target.ts';
import { unknownHealth } from '../apply/unknown-health.ts';
import { record } from '../journal/boundary.ts';
import { lastChange } from '../journal/operations.ts';
import { failedChecksOf } from '../report/changes.ts';
import { appendEvent } from '../report/outbox.ts';
import { sayFailed, tellChecks } from '../report/tell-checks.ts';
import { forgetAttempts, HEALTH, putOff } from '../store/attempts.ts';
import { findFailure } from '../store/failures.ts';
import { isSame, type PackageRef } from '../store/package-ref.ts';
import { findPackage, type PackageRow, savePackage } from '../store/packages.ts';

/**
 * Waits for the health of a package that was corrected or is broken, and writes the verdict down. The wait reads only, so it
 * needs no lock and holds nothing else; a verdict on a package that was applied or removed meanwhile is dropped. One that is not
 * healthy is waited for again after a pause that doubles each time.
 * @throws FleetError those of writing to the state; ABORTED at the signal
 */
export const judgeHealth = async (
  agent: Agent,
  assignment: string,
  exclusively: Exclusively,
): Promise<void> => {
  const { state, signal } = agent;
  const current = findPackage(state, assignment)?.current;
  const target = agent.targets.find(({ kind }) => kind === current?.kind);
  if (!current || !target) {
    forgetAttempts(state, assignment, HEALTH);
    return;
  }
  const change = lastChange(state, assignment);
  const isStill = (row: PackageRow | undefined): row is PackageRow =>
    row?.current !== undefined && isSame(row.current, current) && lastChange(state, assignment) === change;
  let checks: readonly CheckResult[] | undefined;
  try {
    const desired = await loadPackage(state, agent.identity.agent, current, signal);
    checks = await target.settle(desired, signal);
  } catch (cause) {
    signal.throwIfAborted();
    if (isFleetError(cause, 'ABORTED')) throw toFleetError(cause);
    // A cluster that does not answer says nothing about the package; drift says why it cannot be read.
  }
  await exclusively(async () => {
    const row = findPackage(state, assignment);
    if (!isStill(row)) return;
    record(agent, `health ${assignment}`, () => {
      if (!checks) putOff(state, assignment, HEALTH, agent.edge.now());
      else noteHealth(agent, row, current, checks);
    });
  });
};

const noteHealth = (agent: Agent, row: PackageRow, ref: PackageRef, checks: readonly CheckResult[]): void => {
  const { state, edge } = agent;
  const { assignment } = row;
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length === 0) {
    forgetAttempts(state, assignment, HEALTH);
    savePackage(state, { ...(row.status === 'broken' ? mended(agent, row) : row), checks });
    if (row.status === 'broken') tellWell(agent, ref, checks);
  } else {
    putOff(state, assignment, HEALTH, edge.now());
    const message = sayFailed(failed);
    const said = { code: 'CHECK_FAILED', message };
    const since = row.status === 'broken' ? row.since : formatTime(edge.now());
    savePackage(state, { ...row, ...said, status: 'broken', checks, since });
    if (row.code !== said.code || row.message !== message) tellBroken(agent, ref, said, checks);
  }
  tellChecks(agent, row, ref, checks);
};

/** What it was before it broke: healthy, or failed where the release wants a package that did not come up. */
const mended = (agent: Agent, row: PackageRow): PackageRow => {
  const failure = isSame(row.current, row.desired)
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

const whatOf = ({ assignment, package: digest, siteValues, release }: PackageRef) => ({
  type: 'package',
  assignment,
  package: digest,
  siteValues,
  release,
});

/** The failure was reported as a step of the package, so its end is reported as one. */
const tellWell = (agent: Agent, current: PackageRef, checks: readonly CheckResult[]): void => {
  const row = findPackage(agent.state, current.assignment);
  if (row?.status === 'failed' && row.desired) {
    const { code, message } = row;
    appendEvent(agent, { ...whatOf(row.desired), outcome: 'failed', code, message });
    return;
  }
  const said = { message: 'what runs is well again', ...unknownHealth(checks) };
  appendEvent(agent, { ...whatOf(current), outcome: 'unchanged', ...said });
};

const tellBroken = (
  agent: Agent,
  current: PackageRef,
  said: { readonly code: string; readonly message: string },
  checks: readonly CheckResult[],
): void => {
  const detail = { operation: 'correct', rollingBack: false, ...failedChecksOf(checks) };
  appendEvent(agent, { ...whatOf(current), outcome: 'failed', ...said, detail });
};
